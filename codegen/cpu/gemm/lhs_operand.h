// The lhs of a matmul as micro-kernels read it: affine in m and k, or at the sum of two offsets, one of m
// and one of k, which tables hold (the implicit product of MikPoly section 4: windows are never in memory as columns).
// A plan that fills a box has the part of a tensor that a task reads computed into scratch first, as that of the
// prologue which the matmul's schedule reaches (TSCompiler section 5.2): a padded image is never in memory either.
#ifndef TAILOR_CODEGEN_CPU_GEMM_LHS_OPERAND_H_
#define TAILOR_CODEGEN_CPU_GEMM_LHS_OPERAND_H_

#include <vector>

#include "absl/status/statusor.h"
#include "codegen/cpu/gemm/fill_staging.h"
#include "codegen/plan/contraction.h"
#include "codegen/plan/schedule.h"
#include "codegen/scalar/scalar_emitter.h"

namespace tailor::gemm {

// How the operand's elements lie.
struct LhsForm {
  std::vector<ExprId> row_coefficients, depth_coefficients;  // as LoadCoefficients gives them; empty with tables
  bool tables = false;
  bool unit_depth_stride = false;
};
// INTERNAL where an index is no sum of one part that depends on m and one that depends on k. Adds expressions to
// `plan`.
absl::StatusOr<LhsForm> FormOfLhs(KernelPlan& plan, const Contraction& contraction);

// Bytes of scratch that a worker's box takes, over slots as Schedule::scratch_bytes; 0 without one.
SlotExpr StagingBytes(const KernelPlan& plan, const Contraction& contraction, const ContractionTile& tile);

// In IR, within one kernel function. Borrows all.
class LhsOperand {
 public:
  // What a micro-kernel is called with.
  struct Arguments {
    llvm::Value* address;
    llvm::Value* rows;    // a stride, or the address of a table
    llvm::Value* depths;  // likewise
  };

  // Emits into the entry block, where `b` stands. K runs in parts of tile.depth where `depth_blocks`, else at once.
  LhsOperand(llvm::IRBuilderBase& b, const KernelPlan& plan, const Contraction& contraction, const LhsForm& form,
             const Schedule& schedule, bool depth_blocks, const KernelFrame& frame, ScalarEmitter& scalars);

  // Emits what a task does before micro-kernels run on `depth` steps of K from `k` on: the batch axes have their
  // values, and the task's rows are [row, row + rows).
  void EmitPart(llvm::Value* row, llvm::Value* rows, llvm::Value* k, llvm::Value* depth);
  // For micro-kernels whose first row is `row` and which begin at the `k` of the part.
  Arguments At(llvm::Value* row, llvm::Value* k);
  // An address of what row `row` reads at `k`, and what lies after it; without tables alone. It may lie beyond.
  llvm::Value* AddressOf(llvm::Value* row, llvm::Value* k);

 private:
  bool HasStaging() const { return c_.fill >= 0; }
  void EmitStrides();
  llvm::Value* EmitStride(const std::vector<ExprId>& coefficients);
  llvm::Value* EmitOffset(llvm::Value* m, llvm::Value* k);
  // How an index grows from the row that m is to the next ones: by `slope` for each of `remaining` rows, this one
  // included (null: all).
  struct Run {
    llvm::Value* slope;
    llvm::Value* remaining;
  };
  void EmitRowTable(llvm::Value* first, llvm::Value* count, llvm::Value* k);
  void EmitDepthTable(llvm::Value* count, llvm::Value* k);
  Run EmitRunOfRows(ExprId id);
  llvm::Value* Shorter(llvm::Value* a, llvm::Value* b);
  IndexRange EmitRange(ExprId id, const IndexRange& m, const IndexRange& k);
  llvm::AllocaInst* Table(int64_t entries, const char* name);
  llvm::Value* I64(int64_t value) { return b_.getInt64(value); }

  llvm::IRBuilderBase& b_;
  const KernelPlan& plan_;
  const Contraction& c_;
  const LhsForm& form_;
  const Schedule& schedule_;
  const bool depth_blocks_;
  const KernelFrame& frame_;
  ScalarEmitter& scalars_;
  const Buffer& buffer_;  // that is read: in memory, or the box

  std::vector<llvm::Value*> strides_;  // per dim of buffer_, in elements
  std::vector<llvm::Value*> starts_;   // of the box in the tensor, per dim
  llvm::Value* base_ = nullptr;        // address of the element that starts_ names
  llvm::Value *row_stride_ = nullptr, *depth_stride_ = nullptr;
  llvm::Value *row_table_ = nullptr, *depth_table_ = nullptr;
  llvm::Value* first_row_ = nullptr;  // of the task
};

}  // namespace tailor::gemm

#endif  // TAILOR_CODEGEN_CPU_GEMM_LHS_OPERAND_H_
