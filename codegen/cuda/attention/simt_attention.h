// The matmuls of f32 attention by single multiply-adds; operands are vectors of four elements from shared memory.
#ifndef TAILOR_CODEGEN_CUDA_ATTENTION_SIMT_ATTENTION_H_
#define TAILOR_CODEGEN_CUDA_ATTENTION_SIMT_ATTENTION_H_

#include <vector>

#include "codegen/cuda/attention/attention_kernel.h"

namespace tailor::cuda {

// Lane 8 g + t has rows 4 g to 4 g + 3 of the warp, keys t, t + 8, ... of a step, and columns 4 t to 4 t + 3, repeated
// every 32.
class SimtAttention : public AttentionKernel {
 public:
  explicit SimtAttention(AttentionFrame& frame);

 private:
  void EmitQuery() override {}  // the query stays in shared memory
  std::vector<llvm::Value*> EmitQK(llvm::Value* keys) override;
  void EmitPV(llvm::Value* values, const std::vector<llvm::Value*>& weights) override;

  static Lane LaneOf(AttentionFrame& frame);
  // Four neighbouring elements at `offset` (i32, in bytes) of a row.
  std::vector<llvm::Value*> EmitFour(llvm::Value* from, llvm::Value* row, int row_bytes, llvm::Value* offset);
  llvm::Value* EmitMultiplyAdd(llvm::Value* x, llvm::Value* y, llvm::Value* sum);

  llvm::Value* weights_;  // the warp's, in shared memory
};

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_ATTENTION_SIMT_ATTENTION_H_
