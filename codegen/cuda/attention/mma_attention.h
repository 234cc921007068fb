// The matmuls of f16 and bf16 attention on tensor cores (mma.sync, ldmatrix), for sm_80 and later.
#ifndef TAILOR_CODEGEN_CUDA_ATTENTION_MMA_ATTENTION_H_
#define TAILOR_CODEGEN_CUDA_ATTENTION_MMA_ATTENTION_H_

#include <vector>

#include "codegen/cuda/attention/attention_kernel.h"
#include "codegen/cuda/device_ir/device_ops.h"

namespace tailor::cuda {

class MmaAttention : public AttentionKernel {
 public:
  explicit MmaAttention(AttentionFrame& frame);

 private:
  void EmitQuery() override;
  std::vector<llvm::Value*> EmitQK(llvm::Value* keys) override;
  void EmitPV(llvm::Value* values, const std::vector<llvm::Value*>& weights) override;

  static Lane LaneOf(AttentionFrame& frame);
  // Which of the four 8 x 8 parts is the second one: below the first, or beside it.
  enum class Second { kBelow, kBeside };
  std::vector<llvm::Value*> EmitParts(device::Op load, llvm::Value* from, llvm::Value* row, int column, int elements,
                                      Second second);
  void EmitMultiply(const llvm::Value* const* lhs, llvm::Value* low, llvm::Value* high, llvm::Value** sums);

  const device::Op multiply_, pack_;
  std::vector<llvm::Value*> query_;  // fragments: four words per 16 steps of depth
};

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_ATTENTION_MMA_ATTENTION_H_
