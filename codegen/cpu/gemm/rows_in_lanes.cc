#include "codegen/cpu/gemm/rows_in_lanes.h"

#include <algorithm>
#include <vector>

#include "codegen/cpu/gemm/row_runs.h"
#include "codegen/cpu/gemm/row_vector_kernel.h"
#include "codegen/ir/emit_loop.h"
#include "codegen/plan/plan_queries.h"

namespace tailor::gemm {
namespace {

using llvm::Value;

int KnownColumns(const KernelPlan& plan, const Contraction& c) {
  return static_cast<int>(RangeOfDimSize(plan, plan.axes[c.n].dim_size).max);
}

// Rows in memory end where the tensor may end, and rows of which a part of K is summed must not be overwritten.
bool MasksRows(const KernelPlan& plan, const Contraction& c, int64_t depth_of_part) {
  return c.fill < 0 || RangeOfDimSize(plan, plan.axes[c.k].dim_size).max > depth_of_part;
}

// The micro-kernels but for their columns.
MicroKernel RowVectorKernelOf(const KernelPlan& plan, const Contraction& c, const Schedule& schedule,
                              const LhsForm& form) {
  return {.rows = 2 * schedule.lanes,
          .lanes = schedule.lanes,
          .tables = form.tables,
          .rows_in_lanes = true,
          .masks_rows = MasksRows(plan, c, schedule.tile.depth)};
}

struct Pass {
  int first, columns;  // within the panel
};

std::vector<Pass> PassesOf(const MicroKernel& kernel, int columns, int panel) {
  const int count = std::min(columns - panel * kPanelColumns, kPanelColumns);
  const int most = MostColumnsOfRowVectors(kernel.lanes, kernel.masks_rows), passes = (count + most - 1) / most;
  std::vector<Pass> all;
  for (int i = 0; i < passes; ++i) {
    const int first = count * i / passes;
    all.push_back({first, count * (i + 1) / passes - first});
  }
  return all;
}

}  // namespace

bool TakesRowsInLanes(const KernelPlan& plan, const Contraction& c, const LhsForm& form, int lanes) {
  for (const int buffer : {c.lhs.ref, c.rhs.ref}) {
    if (plan.buffers[buffer].dtype != DType::kF32) return false;
  }
  const DimSizeRange columns = RangeOfDimSize(plan, plan.axes[c.n].dim_size);
  if (c.accumulate != DType::kF32 || lanes < 8 || !columns.fixed || !LoadsVectorsOfRows(plan, c, form)) return false;
  // More columns take several passes, which pays where the transposition of the sums takes long beside the products.
  const int64_t depth = RangeOfDimSize(plan, plan.axes[c.k].dim_size).max;
  const bool masks_rows = MasksRows(plan, c, kDepthBytes / static_cast<int64_t>(sizeof(float)));
  int64_t most = MostColumnsOfRowVectors(lanes, masks_rows);
  if (depth <= kTransposedDepth) most = lanes == 8 && c.fill >= 0 ? kMostStagedColumns : kMostRowVectorColumns;
  if (const int64_t run = LengthOfRuns(plan, c.m, c.lhs.args.back()); run > 0) {
    most = most * run / ((run + lanes - 1) / lanes * lanes);  // lanes beyond a run are idle
  }
  // With eight lanes a whole panel is a tile of two registers, whose micro-kernels need fewer instructions.
  if (lanes == 8 && columns.max == kPanelColumns) return false;
  return columns.max >= 1 && columns.max <= most;
}

std::vector<MicroKernel> RowVectorKernels(const KernelPlan& plan, const Contraction& c, const Schedule& schedule,
                                          const LhsForm& form) {
  if (!TakesRowsInLanes(plan, c, form, schedule.lanes)) return {};  // EmitContraction refuses it
  MicroKernel kernel = RowVectorKernelOf(plan, c, schedule, form);
  const int columns = KnownColumns(plan, c);
  std::vector<MicroKernel> kernels;
  for (int panel = 0; panel * kPanelColumns < columns; ++panel) {
    for (const Pass& pass : PassesOf(kernel, columns, panel)) {
      kernel.columns = pass.columns;
      kernels.push_back(kernel);
    }
  }
  return kernels;
}

RowsInLanes::RowsInLanes(llvm::IRBuilderBase& b, const KernelPlan& plan, const Contraction& contraction,
                         const LhsForm& form, const Schedule& schedule, LhsOperand& lhs)
    : b_(b),
      lhs_(lhs),
      columns_(KnownColumns(plan, contraction)),
      kernel_(RowVectorKernelOf(plan, contraction, schedule, form)) {}

void RowsInLanes::Emit(int panel, Value* rhs, Value* depth, Value* resume, const ColumnSums& sums) {
  llvm::Module& module = *b_.GetInsertBlock()->getModule();
  Value* none = b_.getInt64(0);
  EmitLoop(b_, none, lhs_.vectors(), 2, "vectors", [&](Value* first) {
    const LhsOperand::RowVectors rows = lhs_.VectorsFrom(first);
    for (const Pass& pass : PassesOf(kernel_, columns_, panel)) {
      MicroKernel kernel = kernel_;
      kernel.columns = pass.columns;
      Value* factors = b_.CreateConstInBoundsGEP1_64(b_.getFloatTy(), rhs, pass.first);
      Value* of_pass = b_.CreateConstInBoundsGEP1_64(b_.getFloatTy(), sums.address, pass.first * sums.stride);
      b_.CreateCall(DeclareMicroKernel(kernel, module),
                    {lhs_.base(), rows.offsets, lhs_.depths(), factors, b_.getInt64(sums.stride), depth, of_pass,
                     resume, rows.rows, none, none});
    }
  });
}

}  // namespace tailor::gemm
