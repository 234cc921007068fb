#include "codegen/cuda/schedule_cuda_product.h"

#include <algorithm>
#include <cassert>

#include "absl/strings/str_cat.h"
#include "codegen/cuda/product_frame.h"
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

CudaVersion MakeVersion(const KernelPlan& plan, const Contraction& c, const ProductTile& tile,
                        const ProductTypes& types) {
  CudaVersion version{.shape = CudaVersion::Shape::kProductTile, .scratch_bytes = 0};
  version.tile = tile;
  version.threads = tile.threads();
  version.resident_blocks = tile.resident_blocks;
  version.blocks = Blocks(plan, c, tile);
  version.shared_bytes = SharedBytes(tile, types);
  return version;
}

constexpr ProductTile::Kind kMatrix = ProductTile::Kind::kMatrix;
constexpr ProductTile kLargeMatrices = {
    kMatrix, 128, 128, 32, 64, 32, /*stages=*/3, /*pass_rows=*/64, /*resident_blocks=*/2};
constexpr ProductTile kSmallMatrices = {
    kMatrix, 64, 64, 32, 32, 32, /*stages=*/4, /*pass_rows=*/64, /*resident_blocks=*/4};
constexpr ProductTile kLargeElements = {
    ProductTile::Kind::kMultiplyAdd, 128, 128, 16, 8, 8, /*stages=*/2, /*pass_rows=*/64, /*resident_blocks=*/1};

}  // namespace

absl::StatusOr<CudaSchedule> ScheduleCudaProduct(const KernelPlan& plan, const TargetTraits& traits) {
  TAILOR_ASSIGN_OR_RETURN(const Contraction c, ReadContraction(plan));
  const ProductTypes types = TypesOf(plan, c);
  CudaSchedule schedule;
  const auto add = [&](const ProductTile& tile, std::vector<Guard> guards) {
    assert(SharedBytes(tile, types) <= traits.regional_bytes);
    schedule.versions.push_back(MakeVersion(plan, c, tile, types));
    schedule.versions.back().version.guards = std::move(guards);
  };
  const bool matrices = SizeOf(types.operand) == 2 && IsFloat(types.operand);
  const bool large = matrices || SizeOf(types.accumulate) == 4;
  constexpr int64_t kMany = 1024;
  if (auto rows = AtLeast(plan, c.m, kMany), columns = AtLeast(plan, c.n, kMany); large && rows && columns) {
    rows->insert(rows->end(), columns->begin(), columns->end());
    add(matrices ? kLargeMatrices : kLargeElements, *rows);
  }
  const bool always = !schedule.versions.empty() && schedule.versions.back().version.guards.empty();
  if (!always) add(matrices ? kSmallMatrices : ProductTile{}, {});
  return schedule;
}

}  // namespace tailor
