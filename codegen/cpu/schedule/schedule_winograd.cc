#include "codegen/cpu/schedule/schedule_winograd.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include "codegen/contract/panels.h"
#include "codegen/cpu/conv/winograd.h"
#include "codegen/cpu/tiling/tile_shapes.h"
#include "codegen/cpu/schedule/tasks.h"
#include "codegen/plan/plan_queries.h"

namespace tailor::cpu {
Schedule ScheduleWinograd(const KernelPlan& plan, const Contraction& c, const TargetTraits& traits) {
  Schedule schedule;
  schedule.lanes = std::min<int>(kPanelColumns, traits.vector_bytes / sizeof(float));
  KernelPlan accesses = plan;
  schedule.lane_axis = StoresAlongRows(accesses, c) ? c.m : c.n;
  const int pieces = kPanelColumns / schedule.lanes;

  // The points of a block of tiles, and their products with a group of panels, stay in L2 up to some 250 channels. With
  // more tiles per block the weights are read less often.
  constexpr int64_t kLeastTiles = 32, kMostTiles = 96;
  ContractionTile& tile = schedule.tile;
  std::tie(tile.rows, tile.panels) = gemm::BestTile(traits, pieces);
  std::tie(tile.tall_rows, tile.tall_panels) = gemm::TallestTile(traits, pieces, tile);
  const int64_t columns = std::max(tile.panels, tile.tall_panels) * kPanelColumns;
  const int64_t bytes_of_tile =
      kWinogradPoints * (gemm::WinogradChannels(plan, c) + columns) * static_cast<int64_t>(sizeof(float));
  tile.winograd_tiles = std::clamp(traits.regional_bytes / bytes_of_tile, kLeastTiles, kMostTiles);
  tile.task_rows = kWinogradResults * kWinogradResults * tile.winograd_tiles;
  tile.task_panels = 8;  // each block of columns recomputes the points of its image
  tile.depth = gemm::WinogradChannels(plan, c);
  schedule.scratch_bytes = gemm::ScratchOfWinograd(plan, c, tile).bytes;

  // The same tiling as EmitWinograd's.
  const std::vector<DimSize>& image = plan.buffers[c.lhs.ref].dims;
  const int64_t most_supertiles = gemm::WinogradSupertiles(c, tile);
  const auto supertiles_along = [&](const DimSize& dim_size) {
    const SlotExpr results = SlotExpr::Max(OverSlots(dim_size) - gemm::WinogradHalo(c), 0);
    return SlotExpr::CeilDiv(results, gemm::WinogradSupertileResults(c));
  };
  const gemm::WinogradImage dims = gemm::WinogradImageOf(c);
  const SlotExpr down = supertiles_along(image[dims.height]), across = supertiles_along(image[dims.width]);
  const SlotExpr blocks_across = SlotExpr::CeilDiv(across, most_supertiles);
  const SlotExpr block_width = CeilDivBy(across, blocks_across);
  const SlotExpr block_height = SlotExpr::FloorDiv(most_supertiles, SlotExpr::Max(block_width, 1));
  const SlotExpr n = OverSlots(plan.axes[c.n].dim_size);
  // More blocks than one per so many tiles would read all weights for few multiply-adds, or be less than a chunk.
  constexpr int64_t kFewTiles = 16;
  const int64_t columns_of_task =
      std::min(RangeOfDimSize(plan, plan.axes[c.n].dim_size).max, tile.task_panels * kPanelColumns);
  const int64_t per_tile = kWinogradPoints * gemm::WinogradChannels(plan, c) * columns_of_task;
  const int64_t least_tiles = std::max(kFewTiles, kChunkMultiplyAdds / std::max<int64_t>(per_tile, 1));
  const SlotExpr least_height = CeilDivBy(least_tiles, block_width * (c.dilation * c.dilation));
  SlotExpr others = blocks_across * SlotExpr::CeilDiv(n, tile.task_panels * kPanelColumns);
  for (int axis : c.batch) others = others * OverSlots(plan.axes[axis].dim_size);
  schedule.row_blocks = RowBlocks(CeilDivBy(down, block_height), CeilDivBy(down, least_height), others);
  schedule.tasks = schedule.row_blocks * others;

  const SlotExpr tiles = SlotExpr::Min(down * across * (c.dilation * c.dilation), tile.winograd_tiles);
  const SlotExpr per_task =
      tiles * (kWinogradPoints * gemm::WinogradChannels(plan, c)) * SlotExpr::Min(n, tile.task_panels * kPanelColumns) +
      1;
  schedule.tasks_per_chunk = SlotExpr::Max(1, SlotExpr::FloorDiv(kChunkMultiplyAdds, per_task));
  return schedule;
}

}  // namespace tailor::cpu
