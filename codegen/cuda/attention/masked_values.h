// In IR: in which columns the values of hidden keys are infinite or NaN. A hidden key has weight 0 and adds nothing to
// a row but there, where 0 times its value is NaN.
#ifndef TAILOR_CODEGEN_CUDA_ATTENTION_MASKED_VALUES_H_
#define TAILOR_CODEGEN_CUDA_ATTENTION_MASKED_VALUES_H_

#include "codegen/cuda/attention/attention_frame.h"

namespace tailor::cuda {

// Borrows `frame`. Emits into the entry block, where its builder stands. A thread looks at 16 bytes of every so many
// rows, always the same columns, and keeps a bit for each of them.
class MaskedValues {
 public:
  explicit MaskedValues(AttentionFrame& frame);

  // Looks at a step's rows of values, at `values` in shared memory.
  void EmitLook(llvm::Value* values);
  // All threads tell each other what they have seen: EmitPublish, a barrier, EmitGather, a barrier.
  void EmitPublish();
  void EmitGather();
  // Then: whether there was such a value in `column` (i32): i1.
  llvm::Value* EmitIsTouched(llvm::Value* column);

 private:
  llvm::Value* Cell(llvm::Value* number);

  AttentionFrame& f_;
  llvm::IRBuilderBase& b_;
  const int chunks_;  // of 16 bytes in a row
  const int rows_;    // that the threads look at at once
  llvm::Value *chunk_, *row_;
  llvm::AllocaInst* seen_;  // i32: columns 2 i and 2 i + 1 of 16 bits have bits i and i + 16, of 32 bits column i bit i
};

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_ATTENTION_MASKED_VALUES_H_
