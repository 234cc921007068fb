#include "codegen/cuda/schedule_cuda_parts.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "codegen/cuda/cuda_access.h"
#include "codegen/cuda/part_cells.h"
#include "codegen/cuda/stage_phases.h"
#include "codegen/plan_queries.h"

namespace tailor {
namespace {

// Where there are more rows, or groups of columns, a block for each keeps a GPU busy.
constexpr int64_t kFewGroups = 256;
// Parts in all: several for each block that runs at the same time on the largest GPUs, so that none waits long for the
// last ones, and few enough that putting them together costs little.
constexpr int64_t kMostParts = 4096;
constexpr int64_t kMostBlocks = 65536;

// What `value` is where every slot has its greatest value; more than any bound where that is not known.
int64_t Most(const KernelPlan& plan, const DimExpr& value) {
  std::vector<int64_t> most;
  for (const DimSlot& slot : plan.dims) most.push_back(slot.max);
  return value.Evaluate(most).value_or(INT64_MAX);
}

void AddGuard(const DimExpr& value, Guard::Kind of_slot, Guard::Kind of_value, int64_t number, Version& version) {
  if (value.constant()) return;
  if (const auto slot = value.symbol()) {
    version.guards.push_back({.kind = of_slot, .slot = *slot, .number = number});
  } else {
    version.guards.push_back({.kind = of_value, .number = number, .value = value});
  }
}

}  // namespace

std::optional<CudaVersion> InParts(const KernelPlan& plan, const TargetTraits& traits, const DimExpr& points,
                                   CudaVersion version) {
  const std::vector<int> axes = AxesOf(plan, AxisRole::kTile);
  const auto reductions = static_cast<int64_t>(ReducedLocals(plan).size());
  if (axes.empty() || reductions == 0) return std::nullopt;
  const int64_t width = version.points();
  DimExpr elements = 1;  // of a point
  for (int axis : axes) elements = elements * OverSlots(plan.axes[axis].extent);
  const DimExpr groups = DimExpr::CeilDiv(points, width);
  const int64_t least = (2 * traits.part_elements + width - 1) / width;
  if (Most(plan, elements) < least || groups.constant().value_or(0) > kFewGroups) return std::nullopt;

  AddGuard(elements, Guard::Kind::kAtLeast, Guard::Kind::kValueAtLeast, least, version.version);
  AddGuard(groups, Guard::Kind::kAtMost, Guard::Kind::kValueAtMost, kFewGroups, version.version);
  const DimExpr most = DimExpr::FloorDiv(kMostParts, DimExpr::Max(groups, 1));
  version.parts = DimExpr::Min(DimExpr::CeilDiv(width * elements, traits.part_elements), most);
  if (axes.size() > 1) version.parts = DimExpr::Min(version.parts, OverSlots(plan.axes[axes.front()].extent));
  version.together = version.persistent = true;
  // A multiprocessor has kReserved bytes more than a block can have, and takes as much for each.
  constexpr int64_t kReserved = 1024;
  const int64_t fitting = (traits.regional_bytes + kReserved) / (version.partial_bytes + kReserved);
  version.resident_blocks = static_cast<int>(std::min<int64_t>(version.resident_blocks, fitting));
  version.blocks = DimExpr::Min(groups * version.parts, kMostBlocks);
  version.rows_in_shared = false;
  version.shared_bytes = version.partial_bytes;
  version.scratch_bytes = points * RowBytes(plan) + reductions * PartCells::kBytes * width * groups * version.parts;
  return version;
}

}  // namespace tailor
