// Copies rows of the lhs, of bytes or 16-bit elements, for micro-kernels that multiply words of the rhs
// (MicroKernel::word_steps). K is contiguous in the copy: a word is loaded at once, where its elements would be
// gathered for each group of panels. Where bytes are multiplied as i16, the copy is split rows: they are widened once.
#ifndef TAILOR_CODEGEN_CPU_GEMM_COPY_ROWS_H_
#define TAILOR_CODEGEN_CPU_GEMM_COPY_ROWS_H_

#include <cstdint>

#include "codegen/ir/emit_target.h"
#include "codegen/plan/contraction.h"
#include "codegen/plan/schedule.h"
#include "graph/dtype.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/IR/IRBuilder.h"

namespace tailor::gemm {

struct LhsForm;

enum class RowCopies : uint8_t { kNone, kWords, kSplitWords };
RowCopies RowCopiesOf(const KernelPlan& plan, const Contraction& c, const LhsForm& form, const EmitTarget& target);

// A task's copied rows. Split rows are words of two i16: of each four steps the first and third, then the second and
// fourth.
struct CopiedRows {
  bool split;
  int64_t stride;  // elements from row to row: whole lines, and one more, so that a tile's are in different sets of L1
  int64_t bytes;
};
CopiedRows CopiedRowsOf(const KernelPlan& plan, const Contraction& c, const ContractionTile& tile);

// Rows whose elements lie evenly: of one part of K.
struct RunOfRows {
  DType dtype;
  llvm::Value* address;  // of the first row's first step
  llvm::Value* slope;    // elements from row to row
  llvm::Value* rows;
  // Elements from the first step to step `k`.
  llvm::function_ref<llvm::Value*(llvm::Value* k)> depth_offset;
  llvm::Value* depth;    // steps
  int contiguous_steps;  // LhsForm
  bool whole_steps;      // `depth` is a multiple of contiguous_steps, or what follows may be read
  bool slack;            // a vector's elements past the last row may be read
};

// Copies to `to`. Rows after the last one, fewer than 16, may be overwritten, and steps up to a multiple of 16.
void EmitCopyRows(llvm::IRBuilderBase& b, const RunOfRows& from, llvm::Value* to, const CopiedRows& layout);

}  // namespace tailor::gemm

#endif  // TAILOR_CODEGEN_CPU_GEMM_COPY_ROWS_H_
