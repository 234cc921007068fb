// Tracks the columns in which values of masked keys are infinite or NaN. A masked key has weight 0 and does not change
// a row, except in those columns, where 0 times its value is NaN.
#ifndef TAILOR_CODEGEN_CUDA_ATTENTION_MASKED_VALUES_H_
#define TAILOR_CODEGEN_CUDA_ATTENTION_MASKED_VALUES_H_

#include "codegen/cuda/attention/attention_frame.h"

namespace tailor::cuda {

// Borrows `frame`. Emits into the entry block, where its builder stands. A thread checks 16 bytes of strided rows,
// always the same columns, and keeps one bit per column.
class MaskedValues {
 public:
  explicit MaskedValues(AttentionFrame& frame);

  // Checks a step's value rows, at `values` in shared memory.
  void EmitCheck(llvm::Value* values);
  // Exchange of the bits between all threads: EmitPublish, a barrier, EmitGather, a barrier.
  void EmitPublish();
  void EmitGather();
  // Afterwards, i1: whether `column` (i32) had such a value.
  llvm::Value* EmitIsNonFinite(llvm::Value* column);

 private:
  llvm::Value* Cell(llvm::Value* number);

  AttentionFrame& f_;
  llvm::IRBuilderBase& b_;
  const int chunks_;  // of 16 bytes per row
  const int rows_;    // checked by all threads at once
  llvm::Value *chunk_, *row_;
  llvm::AllocaInst* seen_;  // i32; 16-bit columns 2 i and 2 i + 1: bits i and i + 16; 32-bit column i: bit i
};

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_ATTENTION_MASKED_VALUES_H_
