// Chooses lanes and tasks for loop and row kernels on a CPU.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "codegen/cpu/loops/part_loops.h"
#include "codegen/cpu/loops/pipelined_rows.h"
#include "codegen/cpu/loops/short_rows.h"
#include "codegen/cpu/loops/transposed_loops.h"
#include "codegen/cpu/loops/window_loops.h"
#include "codegen/cpu/schedule/schedule_loops.h"
#include "codegen/plan/plan_queries.h"

namespace tailor::cpu {
namespace {

// A version without broadcasts is what lanes are chosen for.
AccessMap MapOf(KernelPlan& plan, int buffer, const std::vector<ExprId>& indices, int axis) {
  return AccessMap::Along(plan, {buffer, indices}, axis, {.no_broadcast = true});
}

// Lanes are neighbours in memory, in either order.
bool IsContiguousEitherWay(const AccessMap& map) {
  return map.kind() == AccessMap::Kind::kUnit || (map.kind() == AccessMap::Kind::kStrided && map.stride() == -1);
}

bool ReducesAlong(const KernelPlan& plan, int axis) {
  return std::any_of(plan.stages.begin(), plan.stages.end(), [&](const Stage& stage) {
    return std::any_of(stage.statements.begin(), stage.statements.end(), [&](const Statement& s) {
      return std::find(s.reduce_axes.begin(), s.reduce_axes.end(), axis) != s.reduce_axes.end();
    });
  });
}

// Gain of lanes along `axis`, in rough cycles per vector. `cost`: cycles per vector of the plan without gathers.
double LaneGain(KernelPlan& plan, const std::vector<ExprId>& exprs, int axis, int lanes, int64_t cost) {
  double gain = 0;
  auto count = [&](int buffer, const std::vector<ExprId>& indices) {
    const AccessMap map = MapOf(plan, buffer, indices, axis);
    if (map.kind() == AccessMap::Kind::kUniform) {
      gain += 1;
    } else if (IsContiguousEitherWay(map)) {
      gain += 2;
    } else {
      gain -= lanes / 2;
    }
  };
  for (ExprId id : exprs) {
    const Expr e = plan.exprs[id];
    if (e.kind == ExprKind::kLoad) count(e.ref, e.args);
  }
  for (const Stage& stage : plan.stages) {
    for (const Statement& s : stage.statements) count(s.buffer, s.indices);
  }
  const DimSize& dim_size = plan.axes[axis].dim_size;
  if (!dim_size.is_constant() || dim_size.constant >= lanes) return gain;
  // Lanes stay idle: more vectors compute as many elements, and each is reduced by itself.
  const auto used = static_cast<double>(std::max<int64_t>(dim_size.constant, 1));
  gain -= static_cast<double>(cost) * (lanes - used) / used;
  return ReducesAlong(plan, axis) ? gain - std::log2(lanes) * lanes / used : gain;  // a step halves the lanes
}

// Lanes along a scan are first combined among themselves; ordered updates cannot take lanes.
bool TakesLanes(const KernelPlan& plan, int axis) {
  if (plan.axes[axis].role != AxisRole::kOrdered) return true;
  for (const Stage& stage : plan.stages) {
    const bool ordered = std::find(stage.axes.begin(), stage.axes.end(), axis) != stage.axes.end();
    if (ordered && !IsScan(plan, stage.statements.front())) return false;
  }
  return true;
}

int ChooseLaneAxis(KernelPlan& plan, const std::vector<ExprId>& exprs, int lanes, int64_t cost, bool whole_rows) {
  int best = -1;
  double best_gain = 0;
  for (int axis = 0; axis < static_cast<int>(plan.axes.size()); ++axis) {
    if (whole_rows && plan.axes[axis].role == AxisRole::kParallel) continue;
    if (!TakesLanes(plan, axis)) continue;
    const double gain = LaneGain(plan, exprs, axis, lanes, cost);
    if (best < 0 || gain >= best_gain) {
      best = axis;
      best_gain = gain;
    }
  }
  return best;
}

// Rough cycles per vector of elements.
int64_t CostOf(const KernelPlan& plan, const std::vector<ExprId>& exprs) {
  int64_t cost = 1;
  for (ExprId id : exprs) {
    const Expr& e = plan.exprs[id];
    if (e.kind == ExprKind::kLoad) cost += 1;
    if (e.kind == ExprKind::kOp) cost += InfoOf(e.op).cost;
  }
  return cost;
}

// The members of `exprs` that are computed for every element along `axis`.
std::vector<ExprId> Along(const KernelPlan& plan, std::vector<ExprId> exprs, int axis) {
  std::erase_if(exprs, [&](ExprId id) { return !DependsOn(plan, id, axis); });
  return exprs;
}

int WidestElement(const KernelPlan& plan, const std::vector<ExprId>& exprs) {
  int bytes = 4;
  for (const Buffer& buffer : plan.buffers) {
    if (buffer.kind == BufferKind::kOutput) bytes = std::max(bytes, SizeOf(buffer.dtype));
  }
  for (ExprId id : exprs) {
    const Expr& e = plan.exprs[id];
    if (e.kind == ExprKind::kOp) bytes = std::max(bytes, SizeOf(e.dtype));
  }
  return bytes;
}

// Greatest value of the product of `dim_sizes`; saturates at INT64_MAX.
int64_t GreatestOf(const KernelPlan& plan, const std::vector<DimSize>& dim_sizes) {
  int64_t product = 1;
  for (const DimSize& dim_size : dim_sizes) {
    const int64_t most = MaxOf(plan, dim_size);
    if (__builtin_mul_overflow(product, std::max<int64_t>(most, 1), &product)) return INT64_MAX;
  }
  return product;
}

// Rows side by side: with the vectors in flight in each, their sums take at most half of 32 registers, and three
// quarters of 16. Pipelined rows take three.
constexpr int kSideBySide = 4, kFewSideBySide = 3;

// Schedule::max_interleaved_elements: of plain rows, and of those that are slow or are pipelined if longer. In longer
// rows the idle time at the end of reductions matters little, and where elements are cheap (not slow), reading rows in
// flight from L2 costs more than it: kShortRow is their Schedule::max_overlap_elements, too.
constexpr int64_t kShortRow = 2048, kShortSlowRow = 128;

// Vectors side by side where lanes run across rows: one cache line each, at every step down the columns. Prefetchers
// follow long contiguous pieces.
constexpr int kColumnsSideBySide = 16;

// The same for columns that a scan walks down.
constexpr int kScansSideBySide = 8, kFewScans = 4;

// Vectors side by side where a vector costs more than kSlow cycles: each keeps several values in registers.
constexpr int kSlowSideBySide = 2;
constexpr int64_t kSlow = 10;

// Least bytes of vectors that short rows share: AVX2, which has masked loads and stores.
constexpr int kPackedBytes = 32;

// Whether lanes run within a row, so that a task is one row or several.
bool LanesAlongRows(const KernelPlan& plan, const Schedule& schedule) {
  return schedule.lane_axis >= 0 && plan.axes[schedule.lane_axis].role == AxisRole::kTile;
}

// Schedule::interleaved_rows. While one row's reductions end, or it waits for its previous element, another row
// proceeds.
int SideBySide(const KernelPlan& plan, const Schedule& schedule, const TargetTraits& traits, int64_t cost) {
  if (!traits.interleave_rows) return 1;
  if (schedule.lane_axis < 0 || plan.axes[schedule.lane_axis].role == AxisRole::kOrdered) return 1;
  const bool many_registers = traits.vector_registers >= 32;
  if (LanesAcrossRows(plan, schedule) && IsScanOnly(plan)) return many_registers ? kScansSideBySide : kFewScans;
  for (const Stage& stage : plan.stages) {
    for (const Statement& s : stage.statements) {
      if (IsScan(plan, s)) return 1;
      if (s.reduce_axes.empty()) continue;
      if (cost <= kSlow && !LanesAlongRows(plan, schedule)) return kColumnsSideBySide;
      return many_registers ? kSideBySide : kFewSideBySide;
    }
  }
  if (!many_registers) return 1;
  return !LanesAlongRows(plan, schedule) && cost > kSlow ? kSlowSideBySide : 1;
}

// Adds a version, tried first, that writes the output past the caches (streaming stores) where these could not hold it.
// For plain loops that write one output in long runs of vectors that the store instructions take. Not for row kernels:
// streaming stores wait for memory while a row is written, cached stores while the next row is computed.
void AddStreamingVersion(KernelPlan& plan, Schedule& schedule) {
  constexpr int64_t kLeastRun = 4096;       // elements: a run's ends are not whole vectors
  constexpr int64_t kLeastBytes = 1 << 20;  // smaller outputs fit every last-level cache
  if (schedule.lane_chunk < kLeastRun || plan.stages.size() != 1) return;
  const std::vector<Statement> statements = plan.stages[0].statements;
  const auto writes = [&](const Statement& s) { return plan.buffers[s.buffer].kind == BufferKind::kOutput; };
  const Statement& store = statements.back();
  if (!writes(store) || std::count_if(statements.begin(), statements.end(), writes) != 1) return;
  const Buffer& output = plan.buffers[store.buffer];
  if (SizeOf(output.dtype) * schedule.lanes < 16) return;
  if (!MapOf(plan, store.buffer, store.indices, schedule.lane_axis).IsUnitInLastDim()) return;
  if (GreatestOf(plan, output.dims) < kLeastBytes / SizeOf(output.dtype)) return;

  const DimSize& run = plan.axes[schedule.lane_axis].dim_size;
  if (GreatestOf(plan, {run}) < kLeastRun) return;

  Version streaming = schedule.versions[0];
  streaming.streams = true;
  SlotExpr bytes = SizeOf(output.dtype);
  for (const DimSize& dim_size : output.dims) bytes = bytes * OverSlots(dim_size);
  if (bytes == 0) return;
  streaming.guards.push_back({.kind = Guard::Kind::kOutgrowsCache, .value = bytes});
  if (!run.is_constant())
    streaming.guards.push_back({.kind = Guard::Kind::kAtLeast, .slot = run.slot, .number = kLeastRun});
  schedule.versions.insert(schedule.versions.begin(), std::move(streaming));
}

// Adds versions for likely lengths of rows of one to two vectors: as constants they leave no remainders and no loops of
// a few turns. Of longer rows, a constant length changes the time by less than its spread.
void AddLikelyVersions(const KernelPlan& plan, Schedule& schedule) {
  const DimSize& length = plan.axes[schedule.lane_axis].dim_size;
  if (length.is_constant()) return;
  for (const int64_t value : plan.dims[length.slot].likely) {
    if (value < schedule.lanes || value > 2 * schedule.lanes) continue;
    Version version = BroadcastVersions(plan)[0];
    version.guards.push_back({.kind = Guard::Kind::kEqual, .slot = length.slot, .number = value});
    schedule.versions.insert(schedule.versions.begin(), std::move(version));
  }
}

// Bytes of row buffers per worker. Lanes across rows: of all vectors side by side. Otherwise the larger of: one row
// with the other buffer sets of rows in flight (small launches only), or the interleaved short rows.
SlotExpr ScratchBytes(const KernelPlan& plan, const Schedule& schedule) {
  if (!HasScratch(plan)) return 0;
  if (LanesAcrossRows(plan, schedule)) {
    const SlotExpr vectors = SlotExpr::CeilDiv(OverSlots(plan.axes[schedule.lane_axis].dim_size), schedule.lanes);
    return SlotExpr::Min(schedule.interleaved_rows, vectors) * RowBytes(plan, schedule.lanes);
  }
  int64_t element = 0;  // of all row buffers
  for (const Buffer& buffer : plan.buffers) {
    if (buffer.kind == BufferKind::kRow) element += SizeOf(buffer.dtype);
  }
  SlotExpr one = RowBytes(plan);
  if (const int others = RowBufferSets(plan, schedule) - 1; others > 0) {
    one = one + others * SlotExpr::Min(RowBytes(plan), kLargestLaunchInFlight * element);
  }
  if (schedule.interleaved_rows == 1) return one;
  const int64_t most = schedule.max_interleaved_elements * element;
  return SlotExpr::Max(one,
                       SlotExpr::Min(schedule.interleaved_rows * RowBytes(plan), schedule.interleaved_rows * most));
}

// Rows per chunk, where rows are long: most rows have a neighbour in flight, if enough chunks are left for many
// threads.
SlotExpr FewNeighbours(const SlotExpr& tasks) {
  constexpr int64_t kMost = 8, kChunks = 16;
  return SlotExpr::Max(1, SlotExpr::Min(kMost, SlotExpr::FloorDiv(tasks, kChunks)));
}

}  // namespace

Schedule ScheduleLoops(const KernelPlan& original, const TargetTraits& traits, bool whole_rows_only) {
  KernelPlan plan = original;  // coefficient queries intern expressions
  const std::vector<ExprId> exprs = ReachableExprs(plan);
  const int64_t cost = CostOf(plan, exprs);

  Schedule schedule;
  schedule.lanes = traits.vector_bytes / WidestElement(plan, exprs);
  if (!whole_rows_only && ScheduleTransposedLoops(plan, cost, schedule)) return schedule;
  if (!whole_rows_only && ScheduleWindowLoops(original, cost, schedule)) return schedule;
  const bool whole_rows = whole_rows_only || (HasScratch(plan) && !CanInterleaveRows(plan));
  schedule.lane_axis = ChooseLaneAxis(plan, exprs, schedule.lanes, cost, whole_rows);
  const bool packs = !whole_rows_only && traits.pack_short_rows && traits.vector_bytes >= kPackedBytes;
  if (packs && HasShortRows(plan, schedule.lanes)) schedule.lane_axis = AxesOf(plan, AxisRole::kTile)[0];
  if (schedule.lane_axis < 0) schedule.lanes = 1;
  schedule.unroll = cost > 2 * kSlow ? 2 : 4;
  schedule.versions = BroadcastVersions(plan);
  schedule.interleaved_rows = SideBySide(plan, schedule, traits, cost);
  if (schedule.interleaved_rows > 1 && LanesAlongRows(plan, schedule)) {
    const bool is_slow = CostOf(plan, Along(plan, exprs, schedule.lane_axis)) > kSlow;
    if (!is_slow) schedule.unroll = 4;
    schedule.overlap_stage = StageToOverlap(plan, schedule.lane_axis);
    if (schedule.overlap_stage > 0 && !is_slow) schedule.max_overlap_elements = kShortRow;
    schedule.max_interleaved_elements = is_slow || schedule.overlap_stage > 0 ? kShortSlowRow : kShortRow;
    schedule.defer_last_stage = CanDeferLastStage(plan, schedule.overlap_stage);
  }

  SlotExpr tasks = 1, per_task = 1;
  bool has_tiles = false;
  for (const Axis& axis : plan.axes) has_tiles |= axis.role != AxisRole::kParallel;
  for (int i = 0; i < static_cast<int>(plan.axes.size()); ++i) {
    const SlotExpr dim_size = OverSlots(plan.axes[i].dim_size);
    if (plan.axes[i].role != AxisRole::kParallel) {
      per_task = per_task * dim_size;
    } else if (i == schedule.lane_axis) {
      schedule.lane_chunk = has_tiles ? std::max(4, schedule.interleaved_rows) * schedule.lanes : 4096;
      tasks = tasks * SlotExpr::CeilDiv(dim_size, schedule.lane_chunk);
      per_task = per_task * SlotExpr::Min(dim_size, schedule.lane_chunk);
    } else {
      tasks = tasks * dim_size;
    }
  }
  schedule.tasks = tasks;
  // A chunk of tasks should take some 10,000 cycles, as handing it out costs about 1,000.
  const int64_t elements_per_chunk = 10000 * schedule.lanes / cost;
  const SlotExpr per_task_or_one = SlotExpr::Max(1, per_task);
  if (LanesAlongRows(plan, schedule) && schedule.interleaved_rows > 1) {  // chunks of whole groups
    const SlotExpr groups = SlotExpr::FloorDiv(elements_per_chunk / schedule.interleaved_rows, per_task_or_one);
    const SlotExpr neighbours = schedule.overlap_stage > 0 ? FewNeighbours(tasks) : 1;
    schedule.tasks_per_chunk = SlotExpr::Max(neighbours, schedule.interleaved_rows * groups);
  } else {
    schedule.tasks_per_chunk = SlotExpr::Max(1, SlotExpr::FloorDiv(elements_per_chunk, per_task_or_one));
  }
  schedule.scratch_bytes = ScratchBytes(plan, schedule);
  AddStreamingVersion(plan, schedule);
  if (whole_rows_only) return schedule;
  // The first ones are dropped first where versions or code are limited.
  if (packs && LanesAlongRows(plan, schedule)) AddShortRowsVersion(plan, schedule);
  AddSplitVersion(plan, elements_per_chunk, schedule);
  if (LanesAlongRows(plan, schedule)) AddLikelyVersions(plan, schedule);
  return schedule;
}

}  // namespace tailor::cpu
