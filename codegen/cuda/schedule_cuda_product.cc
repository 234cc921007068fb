#include "codegen/cuda/schedule_cuda_product.h"

#include <algorithm>
#include <cassert>

#include "absl/strings/str_cat.h"
#include "codegen/gemm/contraction.h"
#include "codegen/plan_queries.h"
#include "graph/status_macros.h"

namespace tailor {
namespace {

// Guards under which an axis has at least `number` elements; none where that is known, nothing where it cannot be.
std::optional<std::vector<Guard>> AtLeast(const KernelPlan& plan, int axis, int64_t number) {
  const Extent& extent = plan.axes[axis].extent;
  const ExtentRange range = RangeOfExtent(plan, extent);
  if (range.max < number) return std::nullopt;
  if (range.fixed) return std::vector<Guard>{};
  return std::vector<Guard>{{.kind = Guard::Kind::kAtLeast, .slot = extent.slot, .number = number}};
}

DimExpr Blocks(const KernelPlan& plan, const Contraction& c, const ProductTile& tile) {
  DimExpr blocks = DimExpr::CeilDiv(OverSlots(plan.axes[c.m].extent), tile.rows) *
                   DimExpr::CeilDiv(OverSlots(plan.axes[c.n].extent), tile.columns);
  for (int axis : c.batch) blocks = blocks * OverSlots(plan.axes[axis].extent);
  return blocks;
}

CudaVersion MakeVersion(const KernelPlan& plan, const Contraction& c, const ProductTile& tile, bool along_rows) {
  CudaVersion version{.shape = CudaVersion::Shape::kProductTile, .scratch_bytes = 0};
  version.tile = tile;
  version.threads = tile.threads();
  version.blocks = Blocks(plan, c, tile);
  version.shared_bytes = SharedBytes(tile, SizeOf(c.accumulate), along_rows);
  return version;
}

}  // namespace

absl::StatusOr<CudaSchedule> ScheduleCudaProduct(const KernelPlan& plan, const TargetTraits& traits) {
  TAILOR_ASSIGN_OR_RETURN(const Contraction c, ReadContraction(plan));
  KernelPlan accesses = plan;  // coefficient queries append expressions
  const bool along_rows = StoresAlongRows(accesses, c);
  CudaSchedule schedule;
  const auto add = [&](const ProductTile& tile, std::vector<Guard> guards) {
    assert(SharedBytes(tile, SizeOf(c.accumulate), along_rows) <= traits.regional_bytes);
    schedule.versions.push_back(MakeVersion(plan, c, tile, along_rows));
    schedule.versions.back().version.guards = std::move(guards);
  };
  constexpr int64_t kManyRows = 1024;
  if (SizeOf(c.accumulate) == 4) {
    auto rows = AtLeast(plan, c.m, kManyRows), columns = AtLeast(plan, c.n, kManyRows);
    if (rows && columns) {
      rows->insert(rows->end(), columns->begin(), columns->end());
      add({.rows = 128, .columns = 128, .depth = 16, .thread_rows = 8, .thread_columns = 8, .pass_rows = 64}, *rows);
    }
  }
  if (schedule.versions.empty() || !schedule.versions.back().version.guards.empty()) add(ProductTile{}, {});
  return schedule;
}

}  // namespace tailor
