#include "codegen/cuda/schedule_cuda_product.h"

#include <algorithm>
#include <cassert>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/cuda/operand_maps.h"
#include "codegen/cuda/product_clocks.h"
#include "codegen/cuda/product_frame.h"
#include "codegen/gemm/contraction.h"
#include "codegen/gemm/panels.h"
#include "codegen/plan_queries.h"
#include "graph/status_macros.h"

namespace tailor {
namespace {

using Kind = ProductTile::Kind;

// Guards under which an axis has at most so many elements: none where that is known, nothing where it cannot be.
std::optional<std::vector<Guard>> AtMost(const KernelPlan& plan, int axis, int64_t most) {
  const Extent& extent = plan.axes[axis].extent;
  const ExtentRange range = RangeOfExtent(plan, extent);
  if (range.fixed && range.max > most) return std::nullopt;
  std::vector<Guard> guards;
  if (range.max > most) guards.push_back({.kind = Guard::Kind::kAtMost, .slot = extent.slot, .number = most});
  return guards;
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
  if (tile.kind == Kind::kWarpgroup) {
    version.persistent = true;
    version.maps = OperandMaps(plan, c, tile);
  }
  return version;
}

// Of many rows and columns, and of any number of them. The operands of a step come once from memory for rows * columns
// products of depth, so large tiles read less; small ones make more blocks of a small result.
constexpr ProductTile kLargeMatrices = {.kind = Kind::kMatrix,
                                        .rows = 128,
                                        .columns = 128,
                                        .depth = 32,
                                        .part_rows = 64,
                                        .part_columns = 32,
                                        .stages = 3,
                                        .pass_rows = 64,
                                        .resident_blocks = 1};
constexpr ProductTile kSmallMatrices = {.kind = Kind::kMatrix,
                                        .rows = 64,
                                        .columns = 64,
                                        .depth = 32,
                                        .part_rows = 32,
                                        .part_columns = 32,
                                        .stages = 4,
                                        .pass_rows = 64,
                                        .resident_blocks = 3};
// The same bytes of f32, whose factors become tf32.
constexpr ProductTile OfWords(ProductTile tile) {
  tile.depth /= 2;
  return tile;
}
// Of the copying warps one thread asks for boxes, or all gather elements of the left operand.
constexpr ProductTile Warpgroups(int columns, int stages, int copying_warps) {
  return {.kind = Kind::kWarpgroup,
          .rows = 128,
          .columns = columns,
          .depth = 64,
          .part_rows = 64,
          .part_columns = columns,
          .stages = stages,
          .pass_rows = 32,
          .resident_blocks = 1,
          .copying_warps = copying_warps};
}
constexpr ProductTile kLargeElements = {
    .rows = 128, .columns = 128, .depth = 16, .part_rows = 8, .part_columns = 8, .stages = 2, .pass_rows = 64};
constexpr ProductTile kSmallElements = {
    .rows = 64, .columns = 64, .depth = 16, .part_rows = 4, .part_columns = 4, .stages = 2, .pass_rows = 64};

ProductTile MatrixStream(int rows) {
  return {.kind = Kind::kMatrixStream,
          .rows = rows,
          .columns = 32,
          .depth = 64,
          .part_rows = rows,
          .part_columns = 32,
          .stages = 0,
          .slices = 8,
          .pass_rows = rows,
          .resident_blocks = 2};
}

// Four columns of a thread where that is at most 16 bytes. Of many rows it has fewer elements on their way, for their
// sums take registers.
ProductTile PanelStream(int rows, const ProductTypes& types) {
  constexpr int kThreads = 256, kStagedRows = 8;
  const int columns = std::min(4, 16 / SizeOf(types.operand));
  return {.kind = Kind::kPanelStream,
          .rows = rows,
          .columns = kPanelColumns,
          .depth = rows > 4 ? 2 : 4,
          .part_rows = rows,
          .part_columns = columns,
          .stages = 0,
          .slices = kThreads * columns / kPanelColumns,
          .pass_rows = std::min(rows, kStagedRows),
          .resident_blocks = rows > 4 ? 1 : 2};
}

// The tiles of one type. Those of few rows are taken wherever they can be; of the others each can compute any product,
// and the host program takes the one whose clocks are fewest.
struct Choice {
  ProductTile tile;
  int64_t most_rows = INT64_MAX;
};

std::vector<Choice> Family(const ProductTypes& types, bool tf32) {
  if (IsFloat(types.operand) && SizeOf(types.operand) == 2) {
    return {{MatrixStream(8), 8},    {MatrixStream(16), 16}, {Warpgroups(256, 4, 1)}, {Warpgroups(128, 6, 1)},
            {Warpgroups(128, 6, 4)}, {kLargeMatrices},       {kSmallMatrices}};
  }
  std::vector<Choice> family;
  for (int rows : {1, 4, 16}) family.push_back({PanelStream(rows, types), rows});
  if (tf32 && types.operand == DType::kF32) {
    family.insert(family.end(), {{OfWords(kLargeMatrices)}, {OfWords(kSmallMatrices)}});
    return family;
  }
  if (SizeOf(types.accumulate) == 4) family.push_back({kLargeElements});
  family.push_back({kSmallElements});
  return family;
}

// Leaves out what is the cheapest for no number of multiprocessors. Nothing where extents decide.
void LeaveOutDear(std::vector<CudaVersion>& versions) {
  constexpr int64_t kMostProcessors = 1024;
  std::vector<bool> taken(versions.size());
  for (int64_t processors = 1; processors <= kMostProcessors; ++processors) {
    size_t best = 0;
    int64_t least = INT64_MAX;
    for (size_t i = 0; i < versions.size(); ++i) {
      const auto blocks = versions[i].blocks.constant(), clocks = versions[i].clocks.constant();
      if (!blocks || !clocks) return;
      const int64_t all = (*blocks + processors - 1) / processors * *clocks;
      if (all < least) least = all, best = i;
    }
    taken[best] = true;
  }
  size_t i = 0;
  std::erase_if(versions, [&](const CudaVersion&) { return !taken[i++]; });
}

// Whether a version whose left operand comes in boxes, or by its elements, has anything to do; adds to its guards.
// Rows of boxes are whole units of 16 bytes; that they begin at one the kernel finds.
bool GuardCopies(const KernelPlan& plan, const Contraction& c, const ProductTile& tile, std::vector<Guard>& guards) {
  constexpr int64_t kUnit = 8;
  const Extent& depth = plan.axes[c.k].extent;
  const ExtentRange range = RangeOfExtent(plan, depth);
  const bool boxes = RowDimOf(plan, c).has_value();
  const bool whole = (range.fixed ? range.max : range.divisor) % kUnit == 0;
  if (tile.copying_warps > 1) return !boxes || !whole;
  if (!boxes || (range.fixed && !whole)) return false;
  if (!whole) guards.push_back({.kind = Guard::Kind::kDivides, .slot = depth.slot, .number = kUnit});
  return true;
}

}  // namespace

absl::StatusOr<CudaSchedule> ScheduleCudaProduct(const KernelPlan& plan, const TargetTraits& traits) {
  TAILOR_ASSIGN_OR_RETURN(const Contraction c, ReadContraction(plan));
  const ProductTypes types = TypesOf(plan, c);
  CudaSchedule schedule;
  for (const Choice& choice : Family(types, traits.tf32_products)) {
    const bool warpgroups = choice.tile.kind == Kind::kWarpgroup;
    if (warpgroups && !traits.warpgroup_products) continue;
    assert(SharedBytes(choice.tile, types) <= traits.regional_bytes);
    auto guards = AtMost(plan, c.m, choice.most_rows);
    if (!guards || (warpgroups && !GuardCopies(plan, c, choice.tile, *guards))) continue;
    CudaVersion version = MakeVersion(plan, c, choice.tile, types);
    version.version.guards = *std::move(guards);
    if (choice.most_rows < INT64_MAX) {
      schedule.versions.push_back(std::move(version));
      if (schedule.versions.back().version.guards.empty()) return schedule;
      continue;
    }
    version.clocks = ProductClocks(choice.tile, types, OverSlots(plan.axes[c.k].extent));
    schedule.versions.push_back(std::move(version));
  }
  LeaveOutDear(schedule.versions);
  return schedule;
}

}  // namespace tailor
