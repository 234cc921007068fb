// In IR: rows of a factor of an attention, some of which at a time a block brings into shared memory.
#ifndef TAILOR_CODEGEN_CUDA_ATTENTION_STAGED_ROWS_H_
#define TAILOR_CODEGEN_CUDA_ATTENTION_STAGED_ROWS_H_

#include "codegen/cuda/attention/attention_frame.h"

namespace tailor::cuda {

// Borrows `frame`. Emits into the entry block, where its builder stands.
class StagedRows {
 public:
  // `element` in terms of the batch and two axes, of which the dim size of `column_axis` is constant. A step is `rows`
  // rows of `columns` elements: zeros follow those that there are. Adds expressions to the frame's plan.
  StagedRows(AttentionFrame& frame, ExprId element, int row_axis, int column_axis, int rows, int columns);

  // Emits what brings a step's rows from `first` (i64) on to `to`, a multiple of 16 in shared memory, StagedRowBytes
  // apart. Rows beyond the last become zeros. What lies in aligned runs is copied asynchronously (cp.async, which the
  // caller commits and awaits), the rest goes through registers: callers' tensors are aligned to their elements alone,
  // so the kernel looks.
  void EmitBring(llvm::Value* first, llvm::Value* to);

 private:
  void FindRuns();
  void EmitCopies(llvm::Value* first, llvm::Value* to);
  void EmitCopy(llvm::Value* chunk, llvm::Value* first, llvm::Value* to);
  void EmitGather(llvm::Value* first, llvm::Value* to);
  llvm::Value* EmitElement();

  AttentionFrame& f_;
  llvm::IRBuilderBase& b_;
  const ExprId element_;
  const int row_axis_, column_axis_, rows_, columns_;
  const int existing_;  // columns
  const DType dtype_;
  const int bytes_, chunk_elements_;
  llvm::Value *dim_size_, *last_;   // of the row axis, and its last row, i64
  llvm::Value* aligned_ = nullptr;  // i1; null where there are no runs
  llvm::Value* base_ = nullptr;     // of row 0
  llvm::Value* pitch_ = nullptr;    // between rows, in elements
};

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_ATTENTION_STAGED_ROWS_H_
