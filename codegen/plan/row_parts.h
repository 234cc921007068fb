// Splits few, long rows (or groups of columns) into parts (AStitch section 3.3, task splitting). Any thread or block
// takes a part, in phases (codegen/plan/stage_phases.h). The number of parts depends only on dim sizes.
#ifndef TAILOR_CODEGEN_PLAN_ROW_PARTS_H_
#define TAILOR_CODEGEN_PLAN_ROW_PARTS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "codegen/plan/kernel_plan.h"
#include "codegen/plan/schedule.h"
#include "codegen/plan/slot_expr.h"

namespace tailor {

// Bytes of the scratch cell for one partial result of a reduction (codegen/scalar/partial_reductions.h).
inline constexpr int64_t kPartialBytes = 8;

// The limits of a split.
struct PartLimits {
  int64_t elements;  // approximate elements per part; a group has at least two parts
  int64_t groups;    // limit; more groups are not split: whole groups are enough tasks
  int64_t parts;     // limit for all groups together
};

// A split: the guards under which it applies, and its sizes over slots.
struct RowParts {
  std::vector<Guard> guards;  // groups are few and have at least two parts each
  SlotExpr groups;            // number of groups, as given
  SlotExpr parts;             // parts per group
  int axis = -1;              // the split axis: the outermost tile axis
};

// Splits groups of `width` points of the plan's parallel axes, each with all elements of the tile axes. nullopt if dim
// sizes never allow it, or if the plan has no reduction.
std::optional<RowParts> SplitRowsIntoParts(const KernelPlan& plan, const SlotExpr& groups, const SlotExpr& width,
                                           const PartLimits& limits);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_PLAN_ROW_PARTS_H_
