// Emits reads of a matmul's lhs in chunks of 16 bytes along K, as tensor cores take it.
#ifndef TAILOR_CODEGEN_CUDA_GEMM_LHS_CHUNKS_H_
#define TAILOR_CODEGEN_CUDA_GEMM_LHS_CHUNKS_H_

#include <vector>

#include "codegen/cuda/gemm/matmul_frame.h"

namespace tailor::cuda {

inline constexpr int kChunkBytes = 16;
inline constexpr int kChunkElements = 8;  // 16-bit elements

// Borrows `matmul`. Reads the frame's current tile; emits where the builder stands.
class LhsChunks {
 public:
  explicit LhsChunks(MatmulFrame& matmul);

  // Whether elements along K are contiguous in memory. They may still be unaligned: callers' tensors are aligned to
  // their elements only.
  bool AreRuns() const { return row_stride_ != nullptr; }
  // i1: every chunk that begins at a multiple of a chunk is 16-byte aligned. Requires AreRuns().
  llvm::Value* IsAligned() const { return aligned_; }
  // Address of element (m, 0). Requires AreRuns() and an existing row.
  llvm::Value* Row(llvm::Value* m);
  // Element (m, k) of any operand in memory form; zero from depth() on. Requires an existing row.
  llvm::Value* EmitElement(llvm::Value* m, llvm::Value* k);

 private:
  MatmulFrame& matmul_;
  llvm::Type* const element_;
  llvm::Value* aligned_ = nullptr;
  llvm::Value* base_ = nullptr;        // of the current batch index
  llvm::Value* row_stride_ = nullptr;  // in elements
};

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_GEMM_LHS_CHUNKS_H_
