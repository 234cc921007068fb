#include "codegen/cpu/gemm/row_runs.h"

#include <algorithm>
#include <optional>

#include "codegen/plan/plan_queries.h"

namespace tailor::gemm {
namespace {

// How an index grows from row to row within a run, if that is a constant. A run ends where a digit of m carries.
std::optional<int64_t> StepInRun(const KernelPlan& plan, int m, ExprId id) {
  if (!DependsOn(plan, id, m)) return 0;
  const Expr& e = plan.exprs[id];
  if (e.kind == ExprKind::kAxis) return 1;
  if (e.args.size() != 2) return std::nullopt;
  const std::optional<int64_t> a = StepInRun(plan, m, e.args[0]), b = StepInRun(plan, m, e.args[1]);
  if (!a || !b) return std::nullopt;
  switch (e.kind) {
    case ExprKind::kIndexAdd:
      return *a + *b;
    case ExprKind::kIndexSub:
      return *a - *b;
    case ExprKind::kIndexMul: {
      const std::optional<int64_t> of_a = ConstantIndex(plan, e.args[0]), of_b = ConstantIndex(plan, e.args[1]);
      if (of_a) return *of_a * *b;
      if (of_b) return *a * *of_b;
      return std::nullopt;
    }
    case ExprKind::kIndexFloorDiv:
      return *a <= 1 ? std::optional<int64_t>(0) : std::nullopt;
    case ExprKind::kIndexMod:
      return *a <= 1 ? a : std::nullopt;
    default:
      return std::nullopt;
  }
}

// Whether the part of the index that depends on m is even.
bool IsEvenInRows(const KernelPlan& plan, int m, ExprId id) {
  if (!DependsOn(plan, id, m)) return true;
  const Expr& e = plan.exprs[id];
  const auto is_even = [&](int arg) { return IsEvenInRows(plan, m, e.args[arg]); };
  switch (e.kind) {
    case ExprKind::kIndexAdd:
    case ExprKind::kIndexSub:
      return is_even(0) && is_even(1);
    case ExprKind::kIndexMul:
      return std::any_of(e.args.begin(), e.args.end(), [&](ExprId arg) {
        const std::optional<int64_t> factor = ConstantIndex(plan, arg);
        return factor ? *factor % 2 == 0 : DependsOn(plan, arg, m) && IsEvenInRows(plan, m, arg);
      });
    default:
      return false;
  }
}

// The step between the rows of a run in the tensor that the staging buffer holds a part of; 0: not along one line.
int64_t StepInTensor(const KernelPlan& plan, const Contraction& c) {
  const size_t last = c.lhs.args.size() - 1;
  for (size_t d = 0; d < last; ++d) {
    if (StepInRun(plan, c.m, c.lhs.args[d]) != 0) return 0;
  }
  return StepInRun(plan, c.m, c.lhs.args[last]).value_or(0);
}

const Expr* RemainderOf(const KernelPlan& plan, int axis, ExprId id) {
  const Expr& e = plan.exprs[id];
  if (e.kind == ExprKind::kIndexMod) {
    const Expr& divided = plan.exprs[e.args[0]];
    if (divided.kind == ExprKind::kAxis && divided.ref == axis) return &e;
  }
  for (ExprId arg : e.args) {
    if (const Expr* found = RemainderOf(plan, axis, arg)) return found;
  }
  return nullptr;
}

// All rows and batches share the offsets of K, so the parity of a column may depend on K alone.
bool IsEverySecondColumn(const KernelPlan& plan, const Contraction& c) {
  const ExprId column = c.lhs.args.back();
  const bool of_batch =
      std::any_of(c.batch.begin(), c.batch.end(), [&](int axis) { return DependsOn(plan, column, axis); });
  return !of_batch && StepInTensor(plan, c) == 2 && IsEvenInRows(plan, c.m, column);
}

}  // namespace

bool LoadsVectorsOfRows(const KernelPlan& plan, const Contraction& c, const LhsForm& form) {
  if (!form.tables) return form.rows.IsUnitInLastDim();
  if (c.fill < 0) return false;  // rows in memory end where the tensor may end
  return StepInTensor(plan, c) == 1 || IsEverySecondColumn(plan, c);
}

bool SplitsColumns(const KernelPlan& plan, const Contraction& c, const ContractionTile& tile) {
  return tile.rows_in_lanes && c.fill >= 0 && IsEverySecondColumn(plan, c);
}

int64_t LengthOfRuns(const KernelPlan& plan, int m, ExprId id) {
  const Expr& e = plan.exprs[id];
  int64_t length = 0;
  const auto ends_at = [&](int64_t size) {
    length = length == 0 || size == 0 ? length + size : std::min(length, size);
  };
  for (ExprId arg : e.args) ends_at(LengthOfRuns(plan, m, arg));
  if (e.kind == ExprKind::kIndexMod && DependsOn(plan, e.args[0], m)) {
    if (const std::optional<int64_t> divisor = ConstantIndex(plan, e.args[1])) ends_at(*divisor);
  }
  return length;
}

std::optional<DimSize> RowsOfLine(const KernelPlan& plan, const Contraction& c) {
  for (ExprId index : c.lhs.args) {
    if (const Expr* remainder = RemainderOf(plan, c.m, index)) return plan.exprs[remainder->args[1]].dim_size;
  }
  return std::nullopt;
}

}  // namespace tailor::gemm
