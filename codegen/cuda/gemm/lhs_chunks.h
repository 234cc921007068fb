// In IR: the lhs of a matmul in chunks of 16 bytes along K, as tensor cores take it.
#ifndef TAILOR_CODEGEN_CUDA_GEMM_LHS_CHUNKS_H_
#define TAILOR_CODEGEN_CUDA_GEMM_LHS_CHUNKS_H_

#include <vector>

#include "codegen/cuda/gemm/matmul_frame.h"

namespace tailor::cuda {

inline constexpr int kChunkBytes = 16;
inline constexpr int kChunkElements = 8;  // of 16 bits

// Borrows `matmul`. Of the frame's tile; emits where the builder stands.
class LhsChunks {
 public:
  explicit LhsChunks(MatmulFrame& matmul);

  // Whether neighbours along K lie side by side in memory. They may still not be aligned: callers' tensors are aligned
  // to their elements alone.
  bool AreRuns() const { return !row_coefficients_.empty(); }
  // i1: every chunk that begins at a whole number of chunks is aligned to 16 bytes. Requires AreRuns().
  llvm::Value* IsAligned() const { return aligned_; }
  // The address of element (m, 0). Requires AreRuns() and an existing row.
  llvm::Value* Row(llvm::Value* m);
  // Element (m, k) of any operand as memory holds it, zero from depth() on. Requires an existing row.
  llvm::Value* EmitElement(llvm::Value* m, llvm::Value* k);

 private:
  MatmulFrame& matmul_;
  llvm::Type* const element_;
  std::vector<ExprId> row_coefficients_;  // empty unless elements are runs
  llvm::Value* aligned_ = nullptr;
  llvm::Value* base_ = nullptr;        // of the batch index
  llvm::Value* row_stride_ = nullptr;  // in elements
};

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_GEMM_LHS_CHUNKS_H_
