#include "codegen/cuda/schedule/schedule_parts.h"

#include <algorithm>
#include <vector>

#include "codegen/plan/plan_queries.h"
#include "codegen/plan/row_parts.h"
#include "codegen/plan/stage_phases.h"

namespace tailor::cuda {
namespace {

// With more rows, or groups of columns, one block for each keeps a GPU busy.
constexpr int64_t kFewGroups = 256;
constexpr int64_t kMostBlocks = 65536;

}  // namespace

std::optional<CudaVersion> SplitIntoParts(const KernelPlan& plan, const TargetTraits& traits, const SlotExpr& points,
                                          CudaVersion version) {
  const int64_t width = version.points();
  const SlotExpr groups = SlotExpr::CeilDiv(points, width);
  auto tiling = SplitRowsIntoParts(plan, groups, width, {traits.elements_per_part, kFewGroups, kMostGpuParts});
  if (!tiling) return std::nullopt;

  AddGuards(tiling->guards, version.version);
  version.parts = tiling->parts;
  version.cooperative = version.persistent = true;
  // A multiprocessor has kReserved bytes more than a block can have, and reserves as much for each block.
  constexpr int64_t kReserved = 1024;
  const int64_t fitting = (traits.regional_bytes + kReserved) / (version.partial_bytes + kReserved);
  version.resident_blocks = static_cast<int>(std::min<int64_t>(version.resident_blocks, fitting));
  version.blocks = SlotExpr::Min(groups * version.parts, kMostBlocks);
  version.rows_in_shared = false;
  version.shared_bytes = version.partial_bytes;
  const auto reductions = static_cast<int64_t>(ReducedLocals(plan).size());
  version.scratch_bytes = points * RowBytes(plan) + reductions * kPartialBytes * width * groups * version.parts;
  return version;
}

}  // namespace tailor::cuda
