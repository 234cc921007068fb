#include "codegen/plan/transposition.h"

#include <algorithm>

#include "codegen/plan/plan_queries.h"

namespace tailor {
namespace {

// The axis along which each output is contiguous; -1 if there is none.
int StoredAxis(KernelPlan& plan) {
  const std::vector<Statement> stores = plan.stages[0].statements;
  for (int axis = 0; axis < static_cast<int>(plan.axes.size()); ++axis) {
    const bool along = std::all_of(stores.begin(), stores.end(), [&](const Statement& s) {
      return IsContiguous(plan, {s.buffer, s.indices}, axis);
    });
    if (along) return axis;
  }
  return -1;
}

bool IsPlainLoop(const KernelPlan& plan) {
  return plan.stages.size() == 1 && plan.stages[0].axes.empty() &&
         std::all_of(plan.axes.begin(), plan.axes.end(),
                     [](const Axis& axis) { return axis.role == AxisRole::kParallel; });
}

}  // namespace

std::optional<Transposition> FindTransposition(const KernelPlan& original, int64_t least_stored, int64_t least_loaded) {
  if (!IsPlainLoop(original)) return std::nullopt;
  KernelPlan plan = original;  // a copy: coefficient queries append expressions
  const auto most = [&](int axis) { return MaxOf(plan, plan.axes[axis].dim_size); };
  Transposition found{.stored = StoredAxis(plan)};
  if (found.stored < 0 || most(found.stored) < least_stored) return std::nullopt;
  for (ExprId id : ReachableExprs(original)) {
    const Expr e = plan.exprs[id];
    if (e.kind != ExprKind::kLoad || IsContiguous(plan, {e.ref, e.args}, found.stored)) continue;
    for (int axis = 0; axis < static_cast<int>(plan.axes.size()); ++axis) {
      const bool fits = found.loaded < 0 ? most(axis) >= least_loaded : axis == found.loaded;
      const bool uses_stored =
          std::any_of(e.args.begin(), e.args.end(), [&](ExprId index) { return DependsOn(plan, index, found.stored); });
      if (!fits || !uses_stored || axis == found.stored || !IsContiguous(plan, {e.ref, e.args}, axis)) continue;
      found.loaded = axis;
      found.loads.push_back(id);
    }
  }
  if (found.loads.empty()) return std::nullopt;
  return found;
}

KernelPlan WithLocals(KernelPlan plan, const std::vector<ExprId>& loads) {
  for (ExprId load : loads) {
    Expr& e = plan.exprs[load];
    e = {.kind = ExprKind::kLoad, .dtype = e.dtype, .ref = static_cast<int32_t>(plan.buffers.size())};
    plan.buffers.push_back({BufferKind::kLocal, e.dtype, {}});
  }
  return plan;
}

}  // namespace tailor
