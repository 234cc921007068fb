#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "codegen/gemm/panels.h"
#include "codegen/gemm/tile_shapes.h"
#include "codegen/gemm/winograd.h"
#include "codegen/plan_queries.h"

namespace tailor {
namespace {

int64_t Channels(const KernelPlan& plan, const Contraction& c) {
  return plan.axes[c.k].extent.constant / (kWinogradWindow * kWinogradWindow);
}

DimExpr CeilDivBy(const DimExpr& a, const DimExpr& b) {
  const DimExpr divisor = DimExpr::Max(b, 1);
  return DimExpr::FloorDiv(a + divisor - 1, divisor);
}

// An odd number of cache lines: what lies so far apart falls into different sets.
int64_t OddLines(int64_t elements) {
  constexpr int64_t kLine = 16;
  return ((elements + kLine - 1) / kLine | 1) * kLine;
}

}  // namespace

WinogradScratch ScratchOfWinograd(const KernelPlan& plan, const Contraction& c, const ContractionTile& tile) {
  WinogradScratch s{.tiles = tile.winograd_tiles};
  const int64_t columns = std::max(tile.panels, tile.tall_panels) * kPanelColumns;
  s.channel_stride = OddLines(s.tiles + kPanelColumns);
  s.image_stride = OddLines(Channels(plan, c) * s.channel_stride);
  s.product_stride = OddLines(s.tiles * columns);
  // A block of one column of tiles has the largest box.
  const int64_t box = (2 * s.tiles + 2) * (2 + kWinogradBoxMargin);
  int64_t end = 0;
  const auto place = [&](int64_t elements) { return std::exchange(end, end + WholeLanes(elements)); };
  s.box = place(box + kWinogradBoxMargin);
  s.image = place(kWinogradPoints * s.image_stride);
  s.products = place(kWinogradPoints * s.product_stride);
  s.results = place((4 * s.tiles + kPanelColumns) * columns);
  s.bytes = end * static_cast<int64_t>(sizeof(float));
  return s;
}

Schedule ScheduleWinograd(const KernelPlan& plan, const Contraction& c, const TargetTraits& traits) {
  Schedule schedule;
  schedule.lanes = std::min<int>(kPanelColumns, traits.vector_bytes / sizeof(float));
  KernelPlan accesses = plan;
  schedule.lane_axis = StoresAlongRows(accesses, c) ? c.m : c.n;
  const int pieces = kPanelColumns / schedule.lanes;

  // The points of a block of tiles, and their products with a group of panels, stay in L2 up to some 250 channels. More
  // tiles read the weights less often.
  constexpr int64_t kLeastTiles = 32, kMostTiles = 96;
  ContractionTile& tile = schedule.tile;
  std::tie(tile.rows, tile.panels) = BestTile(traits, pieces);
  std::tie(tile.tall_rows, tile.tall_panels) = TallestTile(traits, pieces, tile);
  const int64_t columns = std::max(tile.panels, tile.tall_panels) * kPanelColumns;
  const int64_t bytes_of_tile = kWinogradPoints * (Channels(plan, c) + columns) * static_cast<int64_t>(sizeof(float));
  tile.winograd_tiles = std::clamp(traits.regional_bytes / bytes_of_tile, kLeastTiles, kMostTiles);
  tile.task_rows = kWinogradResults * kWinogradResults * tile.winograd_tiles;
  tile.task_panels = 8;  // each such block of columns makes the points of its image anew
  tile.depth = Channels(plan, c);
  schedule.scratch_bytes = ScratchOfWinograd(plan, c, tile).bytes;

  // As EmitWinograd cuts images.
  const std::vector<Extent>& image = plan.buffers[c.lhs.ref].dims;
  const auto tiles_along = [&](const Extent& extent) {
    return DimExpr::CeilDiv(DimExpr::Max(OverSlots(extent) - (kWinogradWindow - 1), 0), kWinogradResults);
  };
  const DimExpr down = tiles_along(image[2]), across = tiles_along(image[3]);
  const DimExpr blocks_across = DimExpr::CeilDiv(across, tile.winograd_tiles);
  const DimExpr block_width = CeilDivBy(across, blocks_across);
  const DimExpr block_height = DimExpr::FloorDiv(tile.winograd_tiles, DimExpr::Max(block_width, 1));
  const DimExpr n = OverSlots(plan.axes[c.n].extent);
  schedule.tasks =
      blocks_across * CeilDivBy(down, block_height) * DimExpr::CeilDiv(n, tile.task_panels * kPanelColumns);
  for (int axis : c.batch) schedule.tasks = schedule.tasks * OverSlots(plan.axes[axis].extent);

  constexpr int64_t kGrainMultiplyAdds = 1 << 19;
  const DimExpr tiles = DimExpr::Min(down * across, tile.winograd_tiles);
  const DimExpr per_task =
      tiles * (kWinogradPoints * Channels(plan, c)) * DimExpr::Min(n, tile.task_panels * kPanelColumns) + 1;
  schedule.grain = DimExpr::Max(1, DimExpr::FloorDiv(kGrainMultiplyAdds, per_task));
  return schedule;
}

}  // namespace tailor
