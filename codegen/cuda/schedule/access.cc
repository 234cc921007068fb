#include "codegen/cuda/schedule/access.h"

#include <algorithm>

namespace tailor::cuda {
namespace {

bool DependsOnAxis(const KernelPlan& plan, const Access& access, int axis) {
  return std::any_of(access.indices.begin(), access.indices.end(),
                     [&](ExprId index) { return DependsOn(plan, index, axis); });
}

bool IsZero(const KernelPlan& plan, ExprId id) {
  const Expr& e = plan.exprs[id];
  return e.kind == ExprKind::kDimSize && e.dim_size == DimSize{.constant = 0};
}

}  // namespace

bool LiesInRuns(const KernelPlan& plan, const Access& access, int axis, bool no_broadcast) {
  const Buffer& buffer = plan.buffers[access.buffer];
  if (access.indices.empty() || buffer.layout != ConstantLayout::kRowMajor) return false;
  const Expr* last = &plan.exprs[access.indices.back()];
  bool whole_rows = buffer.dims.back() == plan.axes[axis].dim_size;
  if (no_broadcast && last->kind == ExprKind::kBcastIndex) {
    whole_rows = whole_rows || buffer.dims.back() == last->dim_size;
    last = &plan.exprs[last->args[0]];
  }
  if (last->kind != ExprKind::kAxis || last->ref != axis) return false;
  return std::all_of(access.indices.begin(), access.indices.end() - 1, [&](ExprId index) {
    return IsZero(plan, index) || (whole_rows && !DependsOn(plan, index, axis));
  });
}

int LanesAlong(const KernelPlan& plan, int axis, bool no_broadcast) {
  int narrowest = 16, widest = 0;
  for (const Access& access : AccessesOf(plan)) {
    if (!DependsOnAxis(plan, access, axis)) continue;
    if (!LiesInRuns(plan, access, axis, no_broadcast)) return 1;
    const int bytes = SizeOf(plan.buffers[access.buffer].dtype);
    narrowest = std::min(narrowest, bytes);
    widest = std::max(widest, bytes);
  }
  for (ExprId id : ReachableExprs(plan)) {
    const Expr& e = plan.exprs[id];
    if (e.predicate >= 0 && DependsOn(plan, e.predicate, axis)) return 1;
  }
  return widest == 0 ? 1 : std::min({8, 16 / narrowest, 32 / widest});
}

}  // namespace tailor::cuda
