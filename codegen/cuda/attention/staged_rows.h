// Copies rows of a factor of attention into shared memory, one step of rows at a time.
#ifndef TAILOR_CODEGEN_CUDA_ATTENTION_STAGED_ROWS_H_
#define TAILOR_CODEGEN_CUDA_ATTENTION_STAGED_ROWS_H_

#include "codegen/cuda/attention/attention_frame.h"

namespace tailor::cuda {

// Borrows `frame`. Emits into the entry block, where its builder stands.
class StagedRows {
 public:
  // `element`: the factor in terms of the batch and two axes; the dim size of `column_axis` is constant. A step is
  // `rows` rows of `columns` elements, zero-padded. Adds expressions to the frame's plan.
  StagedRows(AttentionFrame& frame, ExprId element, int row_axis, int column_axis, int rows, int columns);

  // Emits the copy of a step's rows from `first` (i64) on to `to`, a 16-byte aligned address in shared memory, with
  // rows StagedRowBytes apart. Out-of-range rows are zero. Aligned runs are copied by cp.async, which the caller
  // commits and awaits; others go through registers. The kernel checks the alignment, as callers' tensors are aligned
  // to their elements only.
  void EmitCopyStep(llvm::Value* first, llvm::Value* to);

 private:
  void FindRuns();
  // What a thread copies: 16 bytes of its column in every `turn_rows_`-th row. i32 but for the address.
  struct OwnChunk {
    llvm::Value *row, *bytes;  // `bytes`: without padding
    llvm::Value* address;      // in the tensor, for a step from row 0 on
    llvm::Value* offset;       // in shared memory
  };
  OwnChunk EmitOwnChunk(llvm::Value* thread);
  void EmitCopies(llvm::Value* first, llvm::Value* to);
  void EmitGather(llvm::Value* first, llvm::Value* to);
  llvm::Value* EmitElement();

  AttentionFrame& f_;
  llvm::IRBuilderBase& b_;
  const ExprId element_;
  const int row_axis_, column_axis_, rows_, columns_;
  const int existing_;  // columns, without padding
  const DType dtype_;
  const int bytes_, chunk_elements_;
  llvm::Value *dim_size_, *last_;     // dim size of the row axis, and its last row, i64
  llvm::Value* aligned_ = nullptr;    // i1; null without runs
  llvm::Value* pitch_ = nullptr;      // between rows, in bytes
  llvm::Value* base_ = nullptr;       // of row 0
  const int turn_rows_;               // that the threads copy at once
  llvm::AllocaInst* from_ = nullptr;  // the address of the next chunk
};

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_ATTENTION_STAGED_ROWS_H_
