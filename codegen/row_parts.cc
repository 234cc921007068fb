#include "codegen/row_parts.h"

#include <utility>

#include "codegen/plan_queries.h"
#include "codegen/stage_phases.h"

namespace tailor {
namespace {

// What `value` is where every slot has its greatest value; more than any bound where that is not known.
int64_t Most(const KernelPlan& plan, const DimExpr& value) {
  std::vector<int64_t> most;
  for (const DimSlot& slot : plan.dims) most.push_back(slot.max);
  return value.Evaluate(most).value_or(INT64_MAX);
}

void AddGuard(const DimExpr& value, Guard::Kind of_slot, Guard::Kind of_value, int64_t number,
              std::vector<Guard>& guards) {
  if (value.constant()) return;
  if (const auto slot = value.symbol()) {
    guards.push_back({.kind = of_slot, .slot = *slot, .number = number});
  } else {
    guards.push_back({.kind = of_value, .number = number, .value = value});
  }
}

}  // namespace

std::optional<RowParts> CutRowsIntoParts(const KernelPlan& plan, const DimExpr& groups, int64_t width,
                                         const PartLimits& limits) {
  const std::vector<int> axes = AxesOf(plan, AxisRole::kTile);
  if (axes.empty() || ReducedLocals(plan).empty()) return std::nullopt;
  DimExpr elements = 1;  // of a point
  for (int axis : axes) elements = elements * OverSlots(plan.axes[axis].extent);
  const int64_t least = (2 * limits.elements + width - 1) / width;
  if (Most(plan, elements) < least || groups.constant().value_or(0) > limits.groups) return std::nullopt;

  RowParts cut{.groups = groups, .axis = axes.front()};
  AddGuard(elements, Guard::Kind::kAtLeast, Guard::Kind::kValueAtLeast, least, cut.guards);
  AddGuard(groups, Guard::Kind::kAtMost, Guard::Kind::kValueAtMost, limits.groups, cut.guards);
  const DimExpr most = DimExpr::FloorDiv(limits.parts, DimExpr::Max(groups, 1));
  cut.parts = DimExpr::Min(DimExpr::CeilDiv(width * elements, limits.elements), most);
  if (axes.size() > 1) cut.parts = DimExpr::Min(cut.parts, OverSlots(plan.axes[axes.front()].extent));
  return cut;
}

}  // namespace tailor
