#include "codegen/cuda/schedule/schedule_matmul.h"

#include <algorithm>
#include <cassert>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/contract/panels.h"
#include "codegen/cuda/schedule/access.h"
#include "codegen/cuda/schedule/operand_maps.h"
#include "codegen/cuda/schedule/gemm_cost_model.h"
#include "codegen/cuda/schedule/matmul_plan.h"
#include "codegen/plan/contraction.h"
#include "codegen/plan/plan_queries.h"
#include "graph/status_macros.h"

namespace tailor::cuda {
namespace {

using Kind = MatmulTile::Kind;

// Guards for at most `most` elements along an axis: empty if always true, nullopt if never.
std::optional<std::vector<Guard>> AtMost(const KernelPlan& plan, int axis, int64_t most) {
  const DimSize& dim_size = plan.axes[axis].dim_size;
  const DimSizeRange range = RangeOfDimSize(plan, dim_size);
  if (range.fixed && range.max > most) return std::nullopt;
  std::vector<Guard> guards;
  if (range.max > most) guards.push_back({.kind = Guard::Kind::kAtMost, .slot = dim_size.slot, .number = most});
  return guards;
}

SlotExpr Tiles(const KernelPlan& plan, const Contraction& c, const MatmulTile& tile) {
  SlotExpr tiles = SlotExpr::CeilDiv(OverSlots(plan.axes[c.m].dim_size), tile.rows) *
                   SlotExpr::CeilDiv(OverSlots(plan.axes[c.n].dim_size), tile.columns);
  for (int axis : c.batch) tiles = tiles * OverSlots(plan.axes[axis].dim_size);
  return tiles;
}

// Whether the epilogue loads elements of the result's shape (a residual) beside ops that are polynomials (exp): of both
// a thread has intermediate values for each of its columns.
bool NeedsManyRegisters(const KernelPlan& epilogue, const Contraction& c) {
  constexpr int kPolynomialCost = 10;  // OpInfo::cost
  const auto is_polynomial = [&](ExprId id) {
    const Expr& e = epilogue.exprs[id];
    return e.kind == ExprKind::kOp && InfoOf(e.op).cost >= kPolynomialCost;
  };
  const auto is_residual = [&](const Access& access) {
    const auto varies = [&](ExprId index) { return DependsOn(epilogue, index, c.m); };
    return epilogue.buffers[access.buffer].kind == BufferKind::kInput &&
           std::any_of(access.indices.begin(), access.indices.end(), varies);
  };
  const std::vector<ExprId> exprs = ReachableExprs(epilogue);
  const std::vector<Access> accesses = AccessesOf(epilogue);
  return std::any_of(exprs.begin(), exprs.end(), is_polynomial) &&
         std::any_of(accesses.begin(), accesses.end(), is_residual);
}

// Columns of an output that a thread of the epilogue takes at once, at most so many that all threads have work. SIMT
// kinds take so long that it does not matter. Beside 128 sums that wait for their pass there are registers for eight
// columns, but in f32 not for loads of the epilogue too, and rounded not for many.
int EpilogueLanes(const KernelPlan& plan, const Contraction& c, const MatmulTile& tile, const MatmulTypes& types) {
  constexpr int kMostBesideSums = 4;
  if (types.stores_along_rows || (tile.kind != Kind::kMma && tile.kind != Kind::kWarpgroup)) return 1;
  const KernelPlan epilogue = PlanOfEpilogue(plan, c);
  const int threads = tile.threads() - tile.copying_warps * 32;
  const int lanes =
      std::min(LanesAlong(epilogue, c.n, /*no_broadcast=*/false), tile.pass_rows * tile.columns / threads);
  size_t stores = 0;
  for (const Stage& stage : epilogue.stages) stores += stage.statements.size();
  const bool loads = AccessesOf(epilogue).size() > stores;
  const bool wide = tile.kind == Kind::kWarpgroup && tile.part_columns > 128;
  const bool many = tile.rounds_sums ? NeedsManyRegisters(epilogue, c) : loads;
  return wide && many ? std::min(lanes, kMostBesideSums) : lanes;
}

CudaVersion MakeVersion(const KernelPlan& plan, const Contraction& c, const MatmulTile& tile,
                        const MatmulTypes& types) {
  CudaVersion version{.shape = CudaVersion::Shape::kMatmulTile, .scratch_bytes = 0};
  version.tile = tile;
  version.threads = tile.threads();
  version.lanes = EpilogueLanes(plan, c, tile, types);
  version.lane_axis = version.lanes > 1 ? c.n : -1;
  version.resident_blocks = tile.resident_blocks;
  version.blocks = Tiles(plan, c, tile);
  version.shared_bytes = SharedBytes(tile, types);
  if (tile.kind == Kind::kWarpgroup) {
    version.persistent = true;
    version.maps = OperandMaps(plan, c, tile);
  }
  return version;
}

bool IsStream(const MatmulTile& tile) { return tile.kind == Kind::kPanelStream || tile.kind == Kind::kMmaStream; }

// The Stream-K version: as many blocks as steps of K, limited to what is resident. A part is long enough that storing
// and adding its sums costs less than computing them; for a stream it is at least one turn of all slices. A tile has at
// most kMostParts parts, so that adding them does not take longer than computing them. Without clocks.
CudaVersion Shared(const KernelPlan& plan, const Contraction& c, CudaVersion version, const MatmulTypes& types,
                   const TargetTraits& traits) {
  constexpr int kMostParts = 32;
  const MatmulTile& tile = version.tile;
  const int64_t least = std::max<int64_t>(traits.elements_per_part / (IsStream(tile) ? 8 : 16) / tile.depth, 1);
  const SlotExpr tiles = Tiles(plan, c, tile), depth = OverSlots(plan.axes[c.k].dim_size), steps = StepsOf(tile, depth);
  const SlotExpr most_blocks = tile.resident_blocks * SlotExpr::Workers();
  // Runs of columns would not fit warpgroups' registers beside the ends of shares and the waiting partial sums.
  if (tile.kind == Kind::kWarpgroup) version.lanes = 1, version.lane_axis = -1;
  version.cooperative = version.persistent = true;
  version.parts = SlotExpr::Max(SlotExpr::CeilDiv(steps, kMostParts), least);
  version.blocks = tiles * SlotExpr::Max(steps, 1);
  version.scratch_bytes = PartialBytes(tile, types) * (most_blocks + SlotExpr::Min(tiles, most_blocks));
  return version;
}

// The Stream-K version of a stream, for one tile of rows, if it saves a quarter; nullopt if it never does. Streams have
// no clocks: they run wherever their guards hold. One block per multiprocessor reads more than its share of the memory
// bandwidth.
std::optional<CudaVersion> StreamKStream(const KernelPlan& plan, const Contraction& c, CudaVersion unshared,
                                         const MatmulTypes& types, const TargetTraits& traits) {
  unshared.resident_blocks = unshared.tile.resident_blocks = 1;
  constexpr int64_t kMostProcessors = 256;
  const SlotExpr tiles = Tiles(plan, c, unshared.tile), depth = OverSlots(plan.axes[c.k].dim_size);
  CudaVersion version = Shared(plan, c, unshared, types, traits);
  SlotExpr saved = 3 * StreamClocks(unshared.tile, types, tiles, depth) -
                   4 * SharedStreamClocks(unshared.tile, types, tiles, depth, version.parts);
  const DimSize& rows = plan.axes[c.m].dim_size;
  if (!rows.is_constant()) saved = saved.WithSlot(rows.slot, 1);
  const auto saves_on = [&](int64_t processors) { return saved.WithWorkers(processors).constant().value_or(0) >= 0; };
  bool saves = false;
  for (int64_t processors = 1; processors <= kMostProcessors && !saves; ++processors) saves = saves_on(processors);
  if (!saves) return std::nullopt;
  version.version.guards.push_back({.kind = Guard::Kind::kValueAtLeast, .number = 0, .value = saved});
  return version;
}

// Tiles for any number of rows and columns. The operands of a step are read once per rows * columns * depth
// multiply-adds: large tiles read less, small tiles make more blocks of a small result.
constexpr MatmulTile kLargeMatrices = {.kind = Kind::kMma,
                                       .rows = 128,
                                       .columns = 128,
                                       .depth = 32,
                                       .part_rows = 64,
                                       .part_columns = 32,
                                       .stages = 3,
                                       .pass_rows = 64,
                                       .resident_blocks = 1};
constexpr MatmulTile kSmallMatrices = {.kind = Kind::kMma,
                                       .rows = 64,
                                       .columns = 64,
                                       .depth = 32,
                                       .part_rows = 32,
                                       .part_columns = 32,
                                       .stages = 4,
                                       .pass_rows = 64,
                                       .resident_blocks = 3};
// The same bytes per step in f32, which is rounded to tf32.
constexpr MatmulTile OfWords(MatmulTile tile) {
  tile.depth /= 2;
  return tile;
}
// Of the copying warps one thread issues tensor loads, or all threads gather elements of the lhs.
constexpr MatmulTile Warpgroups(int rows, int columns, int stages, int copying_warps) {
  return {.kind = Kind::kWarpgroup,
          .rows = rows,
          .columns = columns,
          .depth = 64,
          .part_rows = 64,
          .part_columns = columns,
          .stages = stages,
          .pass_rows = columns > 128 ? 32 : 64,
          .resident_blocks = 1,
          .copying_warps = copying_warps};
}

// The tile that rounds sums before it stages them, where the epilogue rounds them in any case. Twice the rows fit a
// pass.
MatmulTile RoundingSums(MatmulTile tile, const MatmulTypes& types) {
  if (!MayRoundSums(tile, types)) return tile;
  tile.rounds_sums = true;
  tile.pass_rows = std::min(tile.rows, 2 * tile.pass_rows);
  return tile;
}

constexpr MatmulTile kLargeElements = {.rows = 128,
                                       .columns = 128,
                                       .depth = 16,
                                       .part_rows = 8,
                                       .part_columns = 8,
                                       .stages = 2,
                                       .pass_rows = 64,
                                       .resident_blocks = 1};
constexpr MatmulTile kSmallElements = {.rows = 64,
                                       .columns = 64,
                                       .depth = 16,
                                       .part_rows = 4,
                                       .part_columns = 4,
                                       .stages = 2,
                                       .pass_rows = 64,
                                       .resident_blocks = 1};

MatmulTile MatrixStream(int rows) {
  return {.kind = Kind::kMmaStream,
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

// A thread has four columns if they are at most 16 bytes. With many rows it has fewer elements in flight, as sums take
// registers.
MatmulTile PanelStream(int rows, const MatmulTypes& types) {
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

// The tiles of one type. Tiles of few rows are taken wherever their guards hold. The others can compute any matmul; the
// host program takes the one with the fewest clocks.
struct Choice {
  MatmulTile tile;
  int64_t most_rows = INT64_MAX;
  bool shared = true;  // also add a Stream-K version; for tiles of any number of rows
};

std::vector<Choice> Family(const MatmulTypes& types, const TargetTraits& traits) {
  std::vector<Choice> family;
  if (IsFloat(types.operand) && SizeOf(types.operand) == 2) {
    for (int rows : {8, 16}) family.push_back({MatrixStream(rows), rows});
    if (!traits.warpgroup_matmuls) {
      for (const MatmulTile& tile : {kLargeMatrices, kSmallMatrices}) family.push_back({tile});
      return family;
    }
    // Stages: as many as shared memory holds. With 256 columns no register is left for the ends of shares, beside 128
    // sums and their epilogue.
    family.push_back({.tile = Warpgroups(128, 256, 4, 1), .shared = false});
    family.push_back({Warpgroups(128, 128, 6, 1)});
    family.push_back({.tile = Warpgroups(64, 128, 8, 1), .shared = false});
    family.push_back({.tile = Warpgroups(64, 64, 12, 1), .shared = false});
    family.push_back({.tile = Warpgroups(64, 32, 16, 1), .shared = false});
    family.push_back({Warpgroups(128, 128, 6, 4)});
    family.push_back({.tile = Warpgroups(64, 64, 12, 4), .shared = false});
    return family;
  }
  for (int rows : {1, 4, 16}) family.push_back({PanelStream(rows, types), rows});
  if (traits.tf32_matmuls && types.operand == DType::kF32) {
    for (const MatmulTile& tile : {kLargeMatrices, kSmallMatrices}) family.push_back({OfWords(tile)});
    return family;
  }
  if (SizeOf(types.accumulate) == 4) family.push_back({kLargeElements});
  family.push_back({kSmallElements});
  return family;
}

// Drops versions without guards that are the cheapest for no number of multiprocessors. Drops none if costs depend on
// dim sizes.
void DropDominatedVersions(std::vector<CudaVersion>& versions) {
  constexpr int64_t kMostProcessors = 1024;
  std::vector<bool> taken(versions.size());
  for (int64_t processors = 1; processors <= kMostProcessors; ++processors) {
    size_t best = 0;
    int64_t least = INT64_MAX;
    for (size_t i = 0; i < versions.size(); ++i) {
      if (!versions[i].version.guards.empty()) {
        taken[i] = true;
        continue;
      }
      const auto clocks = versions[i].clocks.WithWorkers(processors).constant();
      if (!clocks) return;
      if (*clocks < least) least = *clocks, best = i;
    }
    taken[best] = true;
  }
  size_t i = 0;
  std::erase_if(versions, [&](const CudaVersion&) { return !taken[i++]; });
}

// Whether a version that copies the lhs by boxes, or by elements, is ever needed; adds its guards. Rows of boxes are
// whole units of 16 bytes; the kernel checks that their addresses are aligned.
bool GuardCopies(const KernelPlan& plan, const Contraction& c, const MatmulTile& tile, std::vector<Guard>& guards) {
  constexpr int64_t kUnit = 8;
  const DimSize& depth = plan.axes[c.k].dim_size;
  const DimSizeRange range = RangeOfDimSize(plan, depth);
  const bool boxes = RowDimOf(plan, c).has_value();
  const bool whole = (range.fixed ? range.max : range.divisor) % kUnit == 0;
  if (tile.copying_warps > 1) return !boxes || !whole;
  if (!boxes || (range.fixed && !whole)) return false;
  if (!whole) guards.push_back({.kind = Guard::Kind::kDivides, .slot = depth.slot, .number = kUnit});
  return true;
}

}  // namespace

absl::StatusOr<CudaSchedule> ScheduleCudaMatmul(const KernelPlan& plan, const TargetTraits& traits) {
  const Contraction c = ContractionOf(plan);
  assert(plan.buffers[c.rhs.ref].layout != ConstantLayout::kRowMajor);  // TargetTraits::packed_rhs
  const MatmulTypes types = TypesOf(plan, c);
  CudaSchedule schedule;
  for (const Choice& choice : Family(types, traits)) {
    const bool warpgroups = choice.tile.kind == Kind::kWarpgroup;
    assert(SharedBytes(choice.tile, types) <= traits.regional_bytes);
    auto guards = AtMost(plan, c.m, choice.most_rows);
    if (!guards || (warpgroups && !GuardCopies(plan, c, choice.tile, *guards))) continue;
    CudaVersion version = MakeVersion(plan, c, RoundingSums(choice.tile, types), types);
    version.version.guards = *std::move(guards);
    if (IsStream(choice.tile)) {
      auto shared = StreamKStream(plan, c, version, types, traits);
      if (shared) schedule.versions.push_back(*std::move(shared));
      schedule.versions.push_back(std::move(version));
      if (schedule.versions.back().version.guards.empty()) return schedule;
      continue;
    }
    const SlotExpr tiles = Tiles(plan, c, choice.tile), depth = OverSlots(plan.axes[c.k].dim_size);
    version.clocks = MatmulClocks(version.tile, types, tiles, depth);
    if (choice.shared) {
      CudaVersion unshared = MakeVersion(plan, c, choice.tile, types);  // it adds sums in f32
      unshared.version.guards = version.version.guards;
      CudaVersion& shared = schedule.versions.emplace_back(Shared(plan, c, std::move(unshared), types, traits));
      shared.clocks = StreamKClocks(choice.tile, types, tiles, depth, shared.parts);
    }
    schedule.versions.push_back(std::move(version));
  }
  DropDominatedVersions(schedule.versions);
  return schedule;
}

}  // namespace tailor::cuda
