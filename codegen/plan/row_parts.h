// Rows, or groups of columns, that are few and long are cut into parts (AStitch section 3.3, task splitting), which any
// thread or block takes in phases (codegen/plan/stage_phases.h). How many there are follows from dim sizes alone.
#ifndef TAILOR_CODEGEN_PLAN_ROW_PARTS_H_
#define TAILOR_CODEGEN_PLAN_ROW_PARTS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "codegen/plan/kernel_plan.h"
#include "codegen/plan/schedule.h"
#include "codegen/plan/slot_expr.h"

namespace tailor {

// Of a cell in scratch that one part leaves one reduction's result in (codegen/scalar/partial_reductions.h).
inline constexpr int64_t kPartCellBytes = 8;

struct PartLimits {
  int64_t elements;  // of a part, about; a group has at least two such
  int64_t groups;    // more groups than that have enough tasks whole
  int64_t parts;     // of all groups
};

struct RowParts {
  std::vector<Guard> guards;  // that groups are few, and have two parts at least
  SlotExpr groups;            // as given
  SlotExpr parts;             // of each group
  int axis = -1;              // along which they lie: the outermost tile axis
};

// Groups of `width` points of the plan's parallel axes, each with all elements of the tile axes. Nothing where no
// dim sizes allow for it, or where the plan reduces nothing.
std::optional<RowParts> SplitRowsIntoParts(const KernelPlan& plan, const SlotExpr& groups, const SlotExpr& width,
                                           const PartLimits& limits);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_PLAN_ROW_PARTS_H_
