// The schedule of a matmul: a tile that fits the machine's registers, and tasks that keep their operands in cache.
#include <algorithm>
#include <numeric>
#include <optional>
#include <tuple>

#include "codegen/cpu/conv/winograd.h"
#include "codegen/cpu/gemm/copy_rows.h"
#include "codegen/cpu/gemm/lhs_operand.h"
#include "codegen/cpu/gemm/micro_kernel.h"
#include "codegen/cpu/gemm/pack_rows.h"
#include "codegen/cpu/gemm/rhs_operand.h"
#include "codegen/cpu/gemm/row_runs.h"
#include "codegen/cpu/gemm/rows_in_lanes.h"
#include "codegen/cpu/gemm/square_kernel.h"
#include "codegen/cpu/gemm/tile_kernel.h"
#include "codegen/cpu/schedule/schedule_contraction.h"
#include "codegen/cpu/schedule/schedule_winograd.h"
#include "codegen/cpu/schedule/tasks.h"
#include "codegen/cpu/tiling/tiling_model.h"
#include "codegen/cpu/tiling/tile_shapes.h"
#include "codegen/plan/contraction.h"
#include "codegen/plan/plan_queries.h"

namespace tailor::cpu {

namespace {

// Tall tiles need further micro-kernels, a few kilobytes of code. They pay where the rhs is known to be large, as it is
// read less often. Not with widened elements or integer multiplication, which use the registers that tall tiles need.
bool TakesTallTiles(const KernelPlan& plan, const Contraction& c) {
  const DimSizeRange n = RangeOfDimSize(plan, plan.axes[c.n].dim_size),
                     k = RangeOfDimSize(plan, plan.axes[c.k].dim_size);
  const DType dtype = plan.buffers[c.rhs.ref].dtype;
  if (!n.fixed || !k.fixed || n.max == 0 || !IsFloat(c.accumulate) || dtype != c.accumulate) return false;
  return k.max >= kLargeRhsBytes / SizeOf(dtype) / n.max;
}

// Rows per task where results are stored along rows: a multiple of 16. Each column of results is in other pages. Where
// K is short, as for 3 x 3 points of 64 channels, the sums of many rows stay in cache beside their operands, and a task
// takes more rows of each column.
int64_t RowsOfColumns(const KernelPlan& plan, const Contraction& c) {
  constexpr int64_t kFewRows = 96, kManyRows = 240;
  return RangeOfDimSize(plan, plan.axes[c.k].dim_size).max <= kShortDepth ? kManyRows : kFewRows;
}

// Rows per task, in whole tiles, of rows in lanes that are every second column of an image. Filling the staging buffer
// takes as long as the multiply-adds of few columns if L1 does not hold it beside what it is filled from.
int64_t RowsOfEverySecondColumn(const KernelPlan& plan, const Contraction& c, const ContractionTile& tile) {
  constexpr int64_t kLeast = 48, kStagedFactors = 6912;  // factors: 3 x 3 windows have 9 of 4 staged elements
  const int64_t steps = std::max<int64_t>(RangeOfDimSize(plan, plan.axes[c.k].dim_size).max, 1);
  return std::clamp(kStagedFactors / steps, kLeast, tile.task_rows) / tile.rows * tile.rows;
}

// The least blocks of `task_rows` rows that are whole lines of the image whose parts tasks stage. Two tasks that share
// a line both stage it, and compute a vector that is not whole. 0: tasks stage nothing, or need not be whole lines.
// Blocks have whole tiles, and differ by at most one: they end near the ends of lines, and at them where blocks divide
// the lines and tiles a line.
SlotExpr BlocksOfLines(const KernelPlan& plan, const Contraction& c, int64_t task_rows) {
  const std::optional<DimSize> of_line = gemm::RowsOfLine(plan, c);
  if (c.fill < 0 || !of_line || RangeOfDimSize(plan, plan.axes[c.k].dim_size).max > kShortDepth) return 0;
  const SlotExpr line = SlotExpr::Max(OverSlots(*of_line), 1);
  return CeilDivBy(SlotExpr::CeilDiv(OverSlots(plan.axes[c.m].dim_size), line), SlotExpr::FloorDiv(task_rows, line));
}

// The length of the parts that K is divided into: at most `most`, as equal as steps of a vector allow.
int64_t EvenParts(int64_t k, int64_t most) {
  if (k <= most) return most;
  const int64_t parts = (k + most - 1) / most, even = (k + parts - 1) / parts;
  return std::min(most, (even + kPanelColumns - 1) / kPanelColumns * kPanelColumns);
}

// Dim sizes of an axis for ranking tilings: its fixed size, or the `candidates` within its range.
std::vector<int64_t> Samples(const DimSizeRange& range, std::initializer_list<int64_t> candidates) {
  if (range.fixed) return {range.max};
  std::vector<int64_t> samples;
  for (const int64_t dim_size : candidates) {
    if (dim_size <= range.max && dim_size % range.divisor == 0) samples.push_back(dim_size);
  }
  return samples;
}

// Only f32 matmuls have measured costs; all others use the rule's tiling.
bool IsF32(const KernelPlan& plan, const Contraction& c) {
  return c.accumulate == DType::kF32 && plan.buffers[c.lhs.ref].dtype == DType::kF32 &&
         plan.buffers[c.rhs.ref].dtype == DType::kF32;
}

// Whether tiles have one and a half panels: all columns, with registers of eight lanes. `by_rule`: tilings are not
// chosen by cost.
bool TakesOneAndAHalfPanels(const KernelPlan& plan, const Contraction& c, const TargetTraits& traits, bool by_rule) {
  constexpr int kHalf = kPanelColumns / 2;
  const DimSizeRange n = RangeOfDimSize(plan, plan.axes[c.n].dim_size);
  const bool eight_lanes = traits.vector_bytes == kHalf * SizeOf(DType::kF32) && traits.fused_multiply_add;
  return by_rule && eight_lanes && IsF32(plan, c) && n.fixed && n.max > kPanelColumns && n.max <= kPanelColumns + kHalf;
}

std::vector<MatmulTiling> TilingsToChooseAmong(const KernelPlan& plan, const Contraction& c, const TargetTraits& traits,
                                               const CostProfile* costs, const ContractionTile& tile, int pieces) {
  const auto range = [&](int axis) { return RangeOfDimSize(plan, plan.axes[axis].dim_size); };
  std::vector<gemm::MatmulShape> samples;
  for (const int64_t m : Samples(range(c.m), {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14,  15, 16,
                                              17, 18, 20, 22, 24, 30, 32, 40, 48, 56, 64, 80, 96, 128, 200})) {
    for (const int64_t n : Samples(range(c.n), {48, 96, 256, 400, 1024})) {
      for (const int64_t k : Samples(range(c.k), {64, 384, 1024})) {
        for (const int64_t threads : {1, 2, 3, 4}) samples.push_back({m, n, k, 1, threads});
      }
    }
  }
  const std::vector<MatmulTiling> family = gemm::TilingFamily(traits, pieces, tile, TakesTallTiles(plan, c));
  const std::vector<const CostProfile*> profiles = costs != nullptr ? std::vector{costs} : gemm::BuiltInCostsOf(traits);
  return gemm::WorthwhileTilings(family, tile, pieces, samples, profiles);
}

// Adds the version that packs rows. Rows read through tables are always packed.
void AddPackingVersion(const KernelPlan& plan, const Contraction& c, const gemm::LhsForm& form,
                       const TargetTraits& traits, int pieces, Schedule& schedule) {
  // From 1024 rows on, two steps of K are in different pages. With 16 registers tiles have six rows, which use less
  // than half of each line that they read in place: packing pays from 256 rows on, and from 32 where those lines fill
  // much of L1.
  constexpr int64_t kSomeTiles = 32;
  const bool many_lines = RangeOfDimSize(plan, plan.axes[c.k].dim_size).max >= kManyLines;
  const int64_t far_apart = traits.vector_registers >= 32 ? 1024 : many_lines ? kSomeTiles : 256;
  const DimSizeRange m = RangeOfDimSize(plan, plan.axes[c.m].dim_size);
  if (!form.tables && m.max < far_apart) return;
  ContractionTile& tile = schedule.tile;
  const auto [packed_rows, packed_panels] = gemm::PackedTile(traits, pieces, tile);
  if (packed_rows > schedule.lanes) return;
  tile.packed_rows = packed_rows;
  tile.packed_panels = packed_panels;
  // Tasks are whole tiles of either version. Where K runs in parts, the sums of a task are on the stack.
  constexpr int64_t kRowsOnStack = 96;
  const bool one_part = RangeOfDimSize(plan, plan.axes[c.k].dim_size).max <= tile.depth;
  const int64_t rows = std::lcm(tile.rows, tile.packed_rows);
  const int64_t task_rows = one_part ? tile.task_rows : std::min(tile.task_rows, kRowsOnStack);
  tile.task_rows = std::max<int64_t>(task_rows / rows, 1) * rows;
  constexpr int64_t kPanels = 8, kGatheredPanels = 16;
  tile.task_panels = form.tables && one_part ? kGatheredPanels : kPanels;
  const Version packs{.guards = {{.kind = Guard::Kind::kValueAtLeast,
                                  .number = far_apart,
                                  .value = OverSlots(plan.axes[c.m].dim_size)}},
                      .packs_rows = true};
  if (form.tables || m.fixed) {
    schedule.versions = {Version{.packs_rows = true}};
  } else {
    schedule.versions.insert(schedule.versions.begin(), packs);
  }
}

}  // namespace

Schedule ScheduleContraction(const KernelPlan& plan, const TargetTraits& traits, bool in_chain,
                             const CostProfile* costs) {
  const Contraction c = ContractionOf(plan);
  if (gemm::IsWinograd(plan, c)) return ScheduleWinograd(plan, c, traits);
  const int element = SizeOf(c.accumulate);
  Schedule schedule;
  schedule.lanes = std::min(kPanelColumns, traits.vector_bytes / element);
  KernelPlan accesses = plan;
  schedule.lane_axis = StoresAlongRows(accesses, c) ? c.m : c.n;

  // A task reads task_rows x depth of the lhs and, one group at a time, `panels` panels of depth x 16 of the rhs.
  // Together they stay in L2 (regional_bytes) while the rows run past each group.
  constexpr int64_t kTaskRows = 48, kTaskPanels = 4;
  ContractionTile& tile = schedule.tile;
  const DimSizeRange columns = RangeOfDimSize(plan, plan.axes[c.n].dim_size);
  const bool one_panel = columns.max <= kPanelColumns && !in_chain;
  const int pieces = one_panel ? gemm::PiecesOf(columns, schedule.lanes) : kPanelColumns / schedule.lanes;
  std::tie(tile.rows, tile.panels) = gemm::BestTile(traits, pieces, one_panel ? 1 : gemm::kMostBestPanels);
  const auto lhs = gemm::FormOfLhs(accesses, c);
  if (!in_chain && lhs.ok() && TakesOneAndAHalfPanels(plan, c, traits, schedule.lane_axis == c.m || lhs->tables))
    std::tie(tile.rows, tile.panels) = std::pair(gemm::kRowsOfOneAndAHalf, 2);
  if (!in_chain && !c.in_place && lhs.ok()) {
    const gemm::RowCopies copies = gemm::RowCopiesOf(plan, c, *lhs, EmitTarget::Of(traits));
    tile.copies_rows = copies != gemm::RowCopies::kNone;
    tile.split_words = copies == gemm::RowCopies::kSplitWords;
  }
  // Where bytes are widened, the fullest tile has no register for the mask of a chain's factors, and in split rows LLVM
  // keeps some of its sums on the stack: tiles have a row less.
  const bool widens_bytes =
      plan.buffers[c.rhs.ref].dtype == DType::kI8 && traits.integer_matmuls == IntegerMatmuls::kPairs;
  const bool full = (tile.rows + 1) * tile.panels * pieces + 3 > traits.vector_registers;
  if (widens_bytes && full && tile.rows > 1) --tile.rows;
  tile.squares =
      one_panel && schedule.lane_axis == c.n && lhs.ok() && gemm::TakesSquares(plan, c, *lhs, schedule.lanes);
  if (tile.squares) {
    tile.rows = gemm::kSquareRows;
  } else if (TakesTallTiles(plan, c)) {
    std::tie(tile.tall_rows, tile.tall_panels) = gemm::TallestTile(traits, pieces, tile);
  }
  tile.task_panels = kTaskPanels;
  if (gemm::MultipliesTiles(EmitTarget::Of(traits), plan.buffers[c.rhs.ref].dtype,
                            (lhs.ok() && lhs->unit_depth_stride && !lhs->tables) || tile.copies_rows)) {
    // Arithmetic is so much faster that the lhs must be read from beyond L2 less often.
    std::tie(tile.rows, tile.panels) = std::pair(gemm::kTileKernelRows, gemm::kTileKernelPanels);
    tile.task_panels = 4 * kTaskPanels;
  }
  // A staging buffer is filled once per block of columns: wide blocks mean few fills. Where K runs in parts, the sums
  // of a whole block are in cache beside it.
  const DimSizeRange steps = RangeOfDimSize(plan, plan.axes[c.k].dim_size);
  const bool whole_staging = c.fill >= 0 && steps.max <= kDepthBytes / element;
  if (c.fill >= 0) tile.task_panels = std::max<int64_t>(tile.task_panels, (whole_staging ? 4 : 2) * kTaskPanels);
  // The weights of a convolution are large: its tasks have as many rows as those that store along rows, so that the
  // panels are read as rarely.
  const bool reads_windows = lhs.ok() && lhs->tables && c.fill >= 0;
  const int64_t task_rows = schedule.lane_axis == c.m || reads_windows ? RowsOfColumns(plan, c) : kTaskRows;
  tile.task_rows = task_rows / tile.rows * tile.rows;
  tile.depth = kDepthBytes / element;
  if (c.fill >= 0 && steps.fixed) tile.depth = EvenParts(steps.max, tile.depth);
  // Narrow tiles read a part of each row of the rhs: these parts stay in L1 only if they are few, as they share sets.
  constexpr int64_t kRowParts = 96;
  const bool reads_parts = gemm::ReadsRhsRows(plan, c) && tile.panels * kPanelColumns < columns.max;
  if (reads_parts && lhs.ok() && !lhs->tables) tile.depth = kRowParts;
  // Where K is short, storing takes most of the time: a task stores few rows, but long runs of them.
  constexpr int64_t kShortDepth = 48, kStoredTiles = 2, kRhsBytes = 128 << 10;
  const int64_t depth = RangeOfDimSize(plan, plan.axes[c.k].dim_size).max;
  if (depth <= kShortDepth && !one_panel && !in_chain && c.fill < 0 && schedule.lane_axis == c.n && lhs.ok() &&
      !lhs->tables) {
    tile.task_rows = kStoredTiles * std::max(tile.rows, tile.tall_rows);
    tile.task_panels = kRhsBytes / (std::max<int64_t>(depth, 1) * kPanelColumns * element);
  }
  // Not where results are stored along rows or windows are read: there a task keeps all its sums, in its own order. One
  // panel leaves nothing to choose but rows.
  tile.rows_in_lanes = schedule.lane_axis == c.m && !in_chain && !c.in_place && lhs.ok() &&
                       gemm::TakesRowsInLanes(plan, c, *lhs, schedule.lanes);
  if (gemm::SplitsColumns(plan, c, tile)) tile.task_rows = RowsOfEverySecondColumn(plan, c, tile);
  tile.chooses =
      traits.choose_tilings && IsF32(plan, c) && schedule.lane_axis == c.n && lhs.ok() && !lhs->tables && !one_panel;
  if (tile.chooses) {
    tile.tilings = TilingsToChooseAmong(plan, c, traits, costs, tile, pieces);
  }

  if (!in_chain && !one_panel && !tile.rows_in_lanes && lhs.ok() && gemm::MayPackRows(plan, c, *lhs)) {
    AddPackingVersion(plan, c, *lhs, traits, pieces, schedule);
  }
  schedule.scratch_bytes = gemm::ScratchBytes(plan, c, schedule);

  const SlotExpr m = OverSlots(plan.axes[c.m].dim_size), n = OverSlots(plan.axes[c.n].dim_size),
                 k = OverSlots(plan.axes[c.k].dim_size);
  SlotExpr others = SlotExpr::CeilDiv(n, tile.task_panels * kPanelColumns);
  for (int axis : c.batch) others = others * OverSlots(plan.axes[axis].dim_size);
  SlotExpr blocks = SlotExpr::CeilDiv(m, tile.task_rows);
  const SlotExpr of_lines = in_chain ? SlotExpr(0) : BlocksOfLines(plan, c, tile.task_rows);
  if (of_lines != 0) blocks = schedule.row_blocks = SlotExpr::Max(blocks, of_lines);
  // At most one block for each `least_rows` rows. Where columns and steps are known, these are a chunk of work.
  int64_t least_rows = kTaskRows;
  if (columns.fixed && steps.fixed) {
    const int64_t task_columns = std::clamp<int64_t>(columns.max, 1, tile.task_panels * kPanelColumns);
    least_rows = std::max(least_rows, kChunkMultiplyAdds / task_columns / std::max<int64_t>(steps.max, 1));
  }
  const bool divides_rows = !in_chain && !tile.chooses && tile.task_rows > least_rows;
  if (divides_rows && RangeOfDimSize(plan, plan.axes[c.m].dim_size).max > least_rows)
    blocks = schedule.row_blocks = RowBlocks(blocks, SlotExpr::CeilDiv(m, least_rows), others);
  schedule.tasks = blocks * others;

  // Reading a panel from memory takes about as long as multiplying eight rows by it.
  constexpr int64_t kReadingRows = 8;
  const SlotExpr rows = SlotExpr::Min(m, tile.task_rows) + kReadingRows;
  const SlotExpr per_task = rows * SlotExpr::Min(n, tile.task_panels * kPanelColumns) * k + 1;
  schedule.tasks_per_chunk = SlotExpr::Max(1, SlotExpr::FloorDiv(kChunkMultiplyAdds, per_task));
  return schedule;
}

}  // namespace tailor::cpu
