#include "codegen/plan/row_parts.h"

#include <algorithm>
#include <utility>

#include "codegen/plan/plan_queries.h"
#include "codegen/plan/stage_phases.h"

namespace tailor {
namespace {

// The value of `value` where every slot is at its maximum; a huge number if unknown.
int64_t Most(const KernelPlan& plan, const SlotExpr& value) {
  constexpr int64_t kNoTensor = int64_t{1} << 40;  // larger than any tensor; leaves headroom for `value`
  std::vector<int64_t> most;
  for (const DimSlot& slot : plan.dims) most.push_back(std::min(slot.max, kNoTensor));
  return value.Evaluate(most).value_or(INT64_MAX);
}

void AddGuard(const SlotExpr& value, Guard::Kind of_slot, Guard::Kind of_value, int64_t number,
              std::vector<Guard>& guards) {
  if (value.constant()) return;
  if (const auto slot = value.slot()) {
    guards.push_back({.kind = of_slot, .slot = *slot, .number = number});
  } else {
    guards.push_back({.kind = of_value, .number = number, .value = value});
  }
}

}  // namespace

std::optional<RowParts> SplitRowsIntoParts(const KernelPlan& plan, const SlotExpr& groups, const SlotExpr& width,
                                           const PartLimits& limits) {
  const std::vector<int> axes = AxesOf(plan, AxisRole::kTile);
  if (axes.empty() || ReducedLocals(plan).empty()) return std::nullopt;
  SlotExpr elements = 1;  // per point
  for (int axis : axes) elements = elements * OverSlots(plan.axes[axis].dim_size);
  const SlotExpr outer = axes.size() > 1 ? OverSlots(plan.axes[axes.front()].dim_size) : SlotExpr(2);
  if (width.constant() == 0 || groups.constant() == 0) return std::nullopt;
  const int64_t known = width.constant().value_or(1);
  const SlotExpr bounded = width.constant() ? elements : width * elements;
  const int64_t least = (2 * limits.elements + known - 1) / known;
  if (Most(plan, bounded) < least || Most(plan, outer) < 2) return std::nullopt;
  if (groups.constant().value_or(0) > limits.groups) return std::nullopt;

  RowParts tiling{.groups = groups, .axis = axes.front()};
  AddGuard(bounded, Guard::Kind::kAtLeast, Guard::Kind::kValueAtLeast, least, tiling.guards);
  AddGuard(outer, Guard::Kind::kAtLeast, Guard::Kind::kValueAtLeast, 2, tiling.guards);
  AddGuard(groups, Guard::Kind::kAtMost, Guard::Kind::kValueAtMost, limits.groups, tiling.guards);
  const SlotExpr most = SlotExpr::FloorDiv(limits.parts, SlotExpr::Max(groups, 1));
  tiling.parts = SlotExpr::Min(SlotExpr::CeilDiv(width * elements, limits.elements), most);
  if (axes.size() > 1) tiling.parts = SlotExpr::Min(tiling.parts, outer);
  return tiling;
}

}  // namespace tailor
