// In IR: the right operand of a product in chunks of 16 bytes of its panels, which are aligned.
#ifndef TAILOR_CODEGEN_CUDA_RIGHT_PANELS_H_
#define TAILOR_CODEGEN_CUDA_RIGHT_PANELS_H_

#include "codegen/cuda/product_frame.h"

namespace tailor {

// Borrows `product`. Emits into the entry block, where its builder stands. Elements are of 16 bits: `depth` steps of a
// panel are 32 * depth bytes that lie side by side.
class RightPanels {
 public:
  explicit RightPanels(ProductFrame& product);

  // The address of panel `index` (i64) of the block's batch index, or of the last where that lies beyond.
  llvm::Value* Panel(llvm::Value* index);
  // Of one panel, i64: whole pairs of steps where these lie together.
  llvm::Value* bytes() const { return bytes_; }

 private:
  ProductFrame& product_;
  llvm::Value *bytes_, *last_, *base_;
};

}  // namespace tailor

#endif  // TAILOR_CODEGEN_CUDA_RIGHT_PANELS_H_
