#include "codegen/cpu/loops/reading_order.h"

#include <algorithm>

#include "codegen/plan/plan_queries.h"

namespace tailor::cpu {

std::vector<int> ReadingOrder(const KernelPlan& plan, std::vector<int> axes, int lane_axis, int other) {
  std::vector<ExprId> exprs = ReachableExprs(plan);
  std::erase_if(exprs, [&](ExprId id) { return !DependsOn(plan, id, lane_axis); });
  const auto goes_on = [&](int axis) {
    return std::any_of(exprs.begin(), exprs.end(), [&](ExprId id) {
      const Expr& e = plan.exprs[id];
      return e.kind == ExprKind::kLoad && !e.args.empty() && DependsOn(plan, e.args.back(), axis);
    });
  };
  std::stable_partition(axes.begin(), axes.end(), [&](int axis) { return axis == other || !goes_on(axis); });
  return axes;
}

}  // namespace tailor::cpu
