// In IR: the rhs of a matmul as panels, which are aligned to 64 bytes.
#ifndef TAILOR_CODEGEN_CUDA_GEMM_PACKED_RHS_H_
#define TAILOR_CODEGEN_CUDA_GEMM_PACKED_RHS_H_

#include "codegen/cuda/gemm/matmul_frame.h"

namespace tailor::cuda {

// Borrows `matmul`. Of the frame's tile; emits where the builder stands. The steps of a panel, 16 elements each, lie
// side by side.
class PackedRhs {
 public:
  explicit PackedRhs(MatmulFrame& matmul);

  // The address of panel `index` (i64) of the tile's batch index, or of the last where that lies beyond.
  llvm::Value* Panel(llvm::Value* index);
  // Of one panel, i64.
  llvm::Value* bytes() const { return bytes_; }

 private:
  MatmulFrame& matmul_;
  llvm::Value *bytes_, *last_, *base_;
};

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_GEMM_PACKED_RHS_H_
