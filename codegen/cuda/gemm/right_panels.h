// In IR: the right operand of a product as panels, which are aligned to 64 bytes.
#ifndef TAILOR_CODEGEN_CUDA_GEMM_RIGHT_PANELS_H_
#define TAILOR_CODEGEN_CUDA_GEMM_RIGHT_PANELS_H_

#include "codegen/cuda/gemm/product_frame.h"

namespace tailor::cuda {

// Borrows `product`. Of the frame's tile; emits where the builder stands. The steps of a panel, 16 elements each, lie
// side by side.
class RightPanels {
 public:
  explicit RightPanels(ProductFrame& product);

  // The address of panel `index` (i64) of the tile's batch index, or of the last where that lies beyond.
  llvm::Value* Panel(llvm::Value* index);
  // Of one panel, i64.
  llvm::Value* bytes() const { return bytes_; }

 private:
  ProductFrame& product_;
  llvm::Value *bytes_, *last_, *base_;
};

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_GEMM_RIGHT_PANELS_H_
