// Emits addresses of the panels of a matmul's rhs, which is 64-byte aligned.
#ifndef TAILOR_CODEGEN_CUDA_GEMM_PACKED_RHS_H_
#define TAILOR_CODEGEN_CUDA_GEMM_PACKED_RHS_H_

#include "codegen/cuda/gemm/matmul_frame.h"

namespace tailor::cuda {

// Borrows `matmul`. Reads the frame's current tile; emits where the builder stands. The steps of a panel, 16 elements
// each, are contiguous.
class PackedRhs {
 public:
  explicit PackedRhs(MatmulFrame& matmul);

  // Address of panel `index` (i64) of the tile's batch index, at most the last panel.
  llvm::Value* Panel(llvm::Value* index);
  // Bytes of one panel, i64.
  llvm::Value* bytes() const { return bytes_; }

 private:
  MatmulFrame& matmul_;
  llvm::Value *bytes_, *last_, *base_;
};

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_GEMM_PACKED_RHS_H_
