#include "codegen/cuda/schedule_cuda.h"

#include <algorithm>
#include <cassert>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/cuda/cuda_access.h"
#include "codegen/cuda/schedule_cuda_parts.h"
#include "codegen/cuda/transpose_tiles.h"
#include "codegen/plan_queries.h"
#include "codegen/worker_symbol.h"

namespace tailor {
namespace {

using RunShape = CudaVersion::Shape;

constexpr int64_t kMaxElementBlocks = 4096;  // several waves of every GPU there is; loops do the rest
constexpr int64_t kMaxRowBlocks = 65536;
constexpr int64_t kMaxScratchBlocks = 512;  // of which each has a row of its own in global memory
constexpr int kBlockThreads = 256;
constexpr int kLongThreads = 512;  // of rows longer than kLong elements: few of them have to keep all of memory busy
constexpr int64_t kLong = 8192;
constexpr int kPackedThreads = 128;         // of blocks that hold several rows
constexpr int64_t kPackedBytes = 48 << 10;  // of their row buffers: a multiprocessor has room for four such blocks
constexpr int kMostTurns = 8;               // of a thread that holds its part of a row
constexpr int64_t kCell = 8;                // bytes of one partial result

int64_t MaxOf(const KernelPlan& plan, const Extent& extent) {
  return extent.is_constant() ? extent.constant : plan.dims[extent.slot].max;
}

bool HasOrderedAxes(const KernelPlan& plan) {
  return std::any_of(plan.axes.begin(), plan.axes.end(),
                     [](const Axis& axis) { return axis.role == AxisRole::kOrdered; });
}

bool Reduces(const KernelPlan& plan) {
  return std::any_of(plan.stages.begin(), plan.stages.end(), [](const Stage& stage) {
    return std::any_of(stage.statements.begin(), stage.statements.end(),
                       [](const Statement& s) { return !s.reduce_axes.empty(); });
  });
}

// The memory accesses inside loops over tile axes; all of them where there are none.
std::vector<Access> InnerAccesses(const KernelPlan& plan) {
  std::vector<Access> all = AccessesOf(plan), inner;
  for (const Access& access : all) {
    bool varies = false;
    for (int axis = 0; axis < static_cast<int>(plan.axes.size()); ++axis) {
      if (plan.axes[axis].role != AxisRole::kTile) continue;
      for (ExprId index : access.indices) varies |= DependsOn(plan, index, axis);
    }
    if (varies) inner.push_back(access);
  }
  return inner.empty() ? all : inner;
}

// Threads of a block follow the axis along which most accesses are contiguous: a warp then reads whole lines.
RunShape ChooseShape(const KernelPlan& original) {
  if (HasOrderedAxes(original)) return RunShape::kThreadPerElement;
  if (HasScratch(original)) return RunShape::kRows;
  KernelPlan plan = original;  // coefficient queries append expressions
  const std::vector<Access> accesses = InnerAccesses(plan);
  int64_t parallel = 0, tile = -1, work = 1;
  for (int axis = 0; axis < static_cast<int>(plan.axes.size()); ++axis) {
    const bool is_tile = plan.axes[axis].role == AxisRole::kTile;
    int64_t& best = is_tile ? tile : parallel;
    best = std::max<int64_t>(best, std::count_if(accesses.begin(), accesses.end(), [&](const Access& access) {
                               return IsContiguous(plan, access, axis);
                             }));
    if (is_tile) work = std::max(work, MaxOf(plan, plan.axes[axis].extent));
  }
  if (tile > parallel) return RunShape::kRows;
  constexpr int64_t kShared = 16;  // elements of a column that are worth sharing
  return Reduces(plan) && work >= kShared ? RunShape::kColumns : RunShape::kThreadPerElement;
}

// The last axis of all loops within rows; -1 where they differ or are none.
int RowAxis(const KernelPlan& plan) {
  int axis = -1;
  for (const Stage& stage : plan.stages) {
    if (stage.axes.empty()) continue;
    if (axis >= 0 && stage.axes.back() != axis) return -1;
    axis = stage.axes.back();
  }
  return axis;
}

int64_t MostReductions(const KernelPlan& plan) {
  int64_t most = 0;
  for (const Stage& stage : plan.stages) {
    most = std::max<int64_t>(most, std::count_if(stage.statements.begin(), stage.statements.end(),
                                                 [](const Statement& s) { return !s.reduce_axes.empty(); }));
  }
  return most;
}

// Rough cycles of all scalar ops.
int CostOf(const KernelPlan& plan) {
  int cost = 0;
  for (ExprId id : ReachableExprs(plan)) {
    if (plan.exprs[id].kind == ExprKind::kOp) cost += ScalarCost(plan.exprs[id].op);
  }
  return cost;
}

// Cells of shared memory that one reduction takes.
int64_t Cells(const CudaVersion& version, int warp_size) {
  if (version.shape == RunShape::kColumns) return version.threads;
  return version.row_threads <= warp_size ? 0 : version.row_threads / warp_size;
}

class RowScheduler {
 public:
  RowScheduler(const KernelPlan& plan, const TargetTraits& traits, const DimExpr& rows, Version version)
      : plan_(plan), traits_(traits), rows_(rows), row_bytes_(RowBytes(plan)), axis_(RowAxis(plan)) {
    if (axis_ >= 0) longest_ = MaxOf(plan, plan.axes[axis_].extent);
    base_.lanes = axis_ < 0 ? 1 : LanesAlong(plan, axis_, version.no_broadcast);
    base_.lane_axis = base_.lanes > 1 ? axis_ : -1;
    base_.version = std::move(version);
    base_.shape = RunShape::kRows;
  }

  // Rows that blocks share, rows of a few threads, of a warp, of a block.
  std::vector<CudaVersion> Run() {
    if (TryLongRows()) return std::move(versions_);
    if (TryParts()) return std::move(versions_);
    const bool holds = HoldsRows(kMostTurns);
    // What is only read need not be written in whole lines.
    if (holds && !HasScratch(plan_) && StoresNoRow() ? TryPacked(4, 4) : TryPacked(8, 2)) return std::move(versions_);
    if (holds && TryPacked(traits_.warp_size, 2)) return std::move(versions_);
    if (TryPacked(traits_.warp_size, kMostTurns)) return std::move(versions_);
    if (axis_ >= 0 && longest_ > kLong && !plan_.axes[axis_].extent.is_constant()) {
      if (holds && StoresNoRow() && base_.lanes * kBlockThreads * kMostTurns / 2 < kLong) {
        AddBlocks(kBlockThreads, base_.lanes * kBlockThreads * kMostTurns / 2);
      }
      AddBlocks(kBlockThreads, kLong);
    }
    AddBlocks(longest_ > kLong && IsSmall() ? kLongThreads : kBlockThreads, longest_);
    return std::move(versions_);
  }

 private:
  // Whether a thread may hold what it has of a row, of so many vectors: each loop is over the row alone, no thread
  // reads what another wrote, and what is read and kept leaves registers for what is computed.
  bool HoldsRows(int turns) const {
    constexpr int64_t kMostHeld = 96;  // registers
    if (axis_ < 0 || base_.lanes == 1 || !IsSmall() || !KeptArePrivate(plan_)) return false;
    if (plan_.axes[axis_].extent == Extent{.constant = 0}) return false;
    for (const Stage& stage : plan_.stages) {
      if (stage.axes.size() > 1) return false;
      for (const Statement& s : stage.statements) {
        const BufferKind kind = plan_.buffers[s.buffer].kind;
        if (IsScan(plan_, s) || (kind == BufferKind::kOutput && IsKept(plan_, s.buffer))) return false;
        if (kind == BufferKind::kRow && stage.axes.empty()) return false;
      }
    }
    std::set<int> held;
    for (const Access& access : AccessesOf(plan_)) {
      if (plan_.buffers[access.buffer].kind == BufferKind::kOutput) continue;
      for (ExprId index : access.indices) {
        if (DependsOn(plan_, index, axis_)) held.insert(access.buffer);
      }
    }
    int64_t registers = 0;
    for (int buffer : held) registers += std::max(SizeOf(plan_.buffers[buffer].dtype), 4) / 4;
    return registers * base_.lanes * turns <= kMostHeld;
  }

  bool StoresNoRow() const {
    return std::all_of(plan_.stages.begin(), plan_.stages.end(), [](const Stage& stage) {
      return stage.axes.empty() || std::all_of(stage.statements.begin(), stage.statements.end(),
                                               [](const Statement& s) { return !s.reduce_axes.empty(); });
    });
  }

  // Adds a version with a block a row for rows that parts would take too, of which there are so many that a block for
  // each keeps memory busy: those that are only read, all of it at once. True if it takes all rows.
  bool TryLongRows() {
    constexpr int64_t kMany = 32;
    constexpr int kLongTurns = 16;
    if (!HoldsRows(kLongTurns) || !StoresNoRow() || longest_ <= kLong) return false;
    CudaVersion version = base_;
    version.threads = version.row_threads = kLongThreads;
    version.turns = kLongTurns;
    const int64_t reach = int64_t{kLongThreads} * version.lanes * kLongTurns;
    const Extent& extent = plan_.axes[axis_].extent;
    if ((extent.is_constant() && longest_ > reach) || rows_.constant().value_or(kMany) < kMany) return false;
    std::vector<Guard>& guards = version.version.guards;
    if (!extent.is_constant()) {
      guards.push_back({.kind = Guard::Kind::kAtLeast, .slot = extent.slot, .number = kLong + 1});
      guards.push_back({.kind = Guard::Kind::kAtMost, .slot = extent.slot, .number = reach});
    }
    if (const auto slot = rows_.symbol()) {
      guards.push_back({.kind = Guard::Kind::kAtLeast, .slot = *slot, .number = kMany});
    } else if (!rows_.constant()) {
      guards.push_back({.kind = Guard::Kind::kValueAtLeast, .number = kMany, .value = rows_});
    }
    version.blocks = DimExpr::Min(rows_, kMaxRowBlocks);
    version.partial_bytes = PartialBytes(version);
    version.shared_bytes = version.partial_bytes;
    version.scratch_bytes = 0;
    versions_.push_back(std::move(version));
    return versions_.back().version.guards.empty();
  }

  // Adds a version with several blocks a row. True if it takes all rows.
  bool TryParts() {
    CudaVersion version = base_;
    version.threads = traits_.warp_size;
    while (version.threads < kBlockThreads && version.threads * version.lanes < traits_.part_elements) {
      version.threads *= 2;
    }
    version.row_threads = version.threads;
    version.partial_bytes = PartialBytes(version);
    version.resident_blocks = IsSmall() ? 4 : 2;
    const auto parts = InParts(plan_, traits_, rows_, std::move(version));
    if (!parts) return false;
    versions_.push_back(*parts);
    return parts->version.guards.empty();
  }

  // Adds a version with several rows a block, of at most `turns` vectors a thread. True if no row is longer than it
  // takes.
  bool TryPacked(int row_threads, int turns) {
    if (axis_ < 0) return false;
    CudaVersion version = base_;
    version.threads = kPackedThreads;
    version.row_threads = row_threads;
    version.turns = HoldsRows(turns) ? turns : 0;
    const int64_t reach = int64_t{row_threads} * base_.lanes * turns;
    const Extent& extent = plan_.axes[axis_].extent;
    const bool fits_all = longest_ <= reach;
    if (!fits_all && extent.is_constant()) return false;
    const auto bytes = BytesAt(extent, reach);
    if (!bytes || *bytes * version.points() > kPackedBytes) return false;
    if (!fits_all) {
      version.version.guards.push_back({.kind = Guard::Kind::kAtMost, .slot = extent.slot, .number = reach});
    }
    version.blocks = DimExpr::Min(DimExpr::CeilDiv(rows_, version.points()), kMaxRowBlocks);
    version.rows_in_shared = true;
    version.shared_bytes = row_bytes_ * version.points();
    version.scratch_bytes = 0;
    versions_.push_back(std::move(version));
    return fits_all;
  }

  // What row buffers take where the row's extent is `length`; none if they depend on more.
  std::optional<int64_t> BytesAt(const Extent& extent, int64_t length) const {
    if (auto bytes = row_bytes_.constant()) return bytes;
    const std::vector<SymbolId> slots = row_bytes_.Symbols();
    if (extent.is_constant() || slots.size() != 1 || slots[0] != extent.slot) return std::nullopt;
    std::vector<int64_t> dims(plan_.dims.size(), 0);
    dims[slots[0]] = length;
    return row_bytes_.Evaluate(dims);
  }

  // Whether a thread gets by with the registers that it has in a block of kLongThreads.
  bool IsSmall() const { return MostReductions(plan_) <= 2 && CostOf(plan_) <= 64; }

  int64_t PartialBytes(const CudaVersion& version) const {
    const int64_t cells = MostReductions(plan_) * Cells(version, traits_.warp_size);
    return (cells * kCell + 63) / 64 * 64;
  }

  // For rows of at most `reach` elements, which is no bound where it is longest_.
  void AddBlocks(int most_threads, int64_t reach) {
    CudaVersion version = base_;
    if (reach < longest_) {
      const Extent& extent = plan_.axes[axis_].extent;
      version.version.guards.push_back({.kind = Guard::Kind::kAtMost, .slot = extent.slot, .number = reach});
    }
    version.threads = traits_.warp_size;
    while (version.threads < most_threads && version.threads * version.lanes < longest_) version.threads *= 2;
    version.row_threads = version.threads;
    const int at_once = version.threads * version.lanes;
    const int turns = reach <= int64_t{kMostTurns} * at_once ? static_cast<int>((reach + at_once - 1) / at_once) : 0;
    // Blocks that also write rows are better many at a time, each with few registers.
    if (StoresNoRow() && HoldsRows(turns)) version.turns = turns;
    version.blocks = DimExpr::Min(rows_, kMaxRowBlocks);
    version.partial_bytes = PartialBytes(version);
    PlaceRows(version, reach);
  }

  // Row buffers lie in shared memory where they fit: always, under a bound on the one slot they depend on, or never.
  void PlaceRows(const CudaVersion& rows, int64_t reach) {
    CudaVersion shared = rows, scratch = rows;
    shared.rows_in_shared = true;
    shared.shared_bytes = rows.partial_bytes + row_bytes_;
    shared.scratch_bytes = 0;
    // Their addresses take registers, of which threads of larger blocks have too few.
    scratch.turns = 0;
    scratch.threads = scratch.row_threads = std::min(rows.threads, kBlockThreads);
    scratch.partial_bytes = PartialBytes(scratch);
    scratch.shared_bytes = scratch.partial_bytes;
    scratch.scratch_bytes = row_bytes_;
    scratch.blocks = DimExpr::Min(rows_, kMaxScratchBlocks);
    const int64_t budget = traits_.regional_bytes - rows.partial_bytes;
    if (auto bytes = row_bytes_.constant()) return versions_.push_back(*bytes <= budget ? shared : scratch);
    const std::vector<SymbolId> slots = row_bytes_.Symbols();
    if (slots.size() != 1) return versions_.push_back(scratch);
    const bool is_length = axis_ >= 0 && plan_.axes[axis_].extent.slot == slots[0];
    const int64_t most = is_length ? reach : plan_.dims[slots[0]].max;
    const int64_t fitting = LongestWithin(budget, slots[0]);
    if (most <= fitting) return versions_.push_back(shared);
    shared.version.guards.push_back({.kind = Guard::Kind::kAtMost, .slot = slots[0], .number = fitting});
    versions_.push_back(shared);
    versions_.push_back(scratch);
  }

  // The greatest value of `slot`, alone, at which row buffers take no more than `budget`.
  int64_t LongestWithin(int64_t budget, SymbolId slot) const {
    std::vector<int64_t> dims(plan_.dims.size(), 0);
    int64_t low = 0, high = budget + 1;  // fits at low; a byte an element, so not at high
    while (high - low > 1) {
      const int64_t middle = low + (high - low) / 2;
      dims[slot] = middle;
      (row_bytes_.Evaluate(dims).value_or(INT64_MAX) <= budget ? low : high) = middle;
    }
    return low;
  }

  const KernelPlan& plan_;
  const TargetTraits& traits_;
  const DimExpr rows_;
  const DimExpr row_bytes_;
  const int axis_;
  int64_t longest_ = 1;
  CudaVersion base_;
  std::vector<CudaVersion> versions_;
};

CudaVersion ThreadPerElement(const KernelPlan& plan, const DimExpr& elements, Version version) {
  CudaVersion out{.shared_bytes = 0, .scratch_bytes = 0};
  const std::vector<int> axes = AxesOf(plan, AxisRole::kParallel);
  const int axis = axes.empty() ? -1 : axes.back();
  out.lanes = axis < 0 || HasOrderedAxes(plan) ? 1 : LanesAlong(plan, axis, version.no_broadcast);
  out.lane_axis = out.lanes > 1 ? axis : -1;
  out.blocks = DimExpr::Min(DimExpr::CeilDiv(elements, out.threads * out.lanes), kMaxElementBlocks);
  out.version = std::move(version);
  return out;
}

// Columns that blocks share, where that is for all of them alone; columns of a block; those of a thread where a block's
// have no room for their reductions.
std::vector<CudaVersion> Columns(const KernelPlan& plan, const TargetTraits& traits, const DimExpr& elements,
                                 Version version) {
  CudaVersion out{.version = version, .shape = RunShape::kColumns, .scratch_bytes = 0};
  out.resident_blocks = 4;
  const auto bytes = [&] { return MostReductions(plan) * Cells(out, traits.warp_size) * kCell; };
  while (bytes() > traits.regional_bytes && out.threads > traits.warp_size) out.threads /= 2;
  if (bytes() > traits.regional_bytes) return {ThreadPerElement(plan, elements, std::move(version))};
  out.partial_bytes = bytes();
  out.shared_bytes = out.partial_bytes;
  std::vector<CudaVersion> versions;
  if (const auto parts = InParts(plan, traits, elements, out)) versions.push_back(*parts);
  if (!versions.empty() && versions[0].version.guards.empty()) return versions;
  out.resident_blocks = 0;
  out.blocks = DimExpr::Min(DimExpr::CeilDiv(elements, out.points()), kMaxRowBlocks);
  versions.push_back(std::move(out));
  return versions;
}

CudaVersion Transposed(const KernelPlan& plan, const Transposition& how) {
  CudaVersion out{.shape = RunShape::kTransposed, .threads = kTransposeThreads, .scratch_bytes = 0};
  out.shared_bytes = how.SharedBytes(plan);
  DimExpr tiles = 1;
  for (int axis = 0; axis < static_cast<int>(plan.axes.size()); ++axis) {
    const DimExpr extent = OverSlots(plan.axes[axis].extent);
    const bool is_tiled = axis == how.stored || axis == how.loaded;
    tiles = tiles * (is_tiled ? DimExpr::CeilDiv(extent, kTransposeTile) : extent);
  }
  out.blocks = DimExpr::Min(tiles, kMaxRowBlocks);
  return out;
}

}  // namespace

int CudaVersion::points() const {
  constexpr int kWarp = 32;
  if (shape == RunShape::kColumns) return kWarp;
  return shape == RunShape::kRows ? threads / row_threads : threads;
}

CudaSchedule ScheduleCudaLoops(const KernelPlan& plan, const TargetTraits& traits) {
  assert(!plan.contraction && plan.links.empty());
  DimExpr elements = 1;
  for (const Axis& axis : plan.axes) {
    if (axis.role == AxisRole::kParallel) elements = elements * OverSlots(axis.extent);
  }
  if (const auto transposition = FindTransposition(plan)) return {{Transposed(plan, *transposition)}};
  const RunShape shape = ChooseShape(plan);
  CudaSchedule schedule;
  for (Version& version : BroadcastVersions(plan)) {
    std::vector<CudaVersion>& all = schedule.versions;
    if (shape == RunShape::kRows || shape == RunShape::kColumns) {
      const std::vector<CudaVersion> rows = shape == RunShape::kRows
                                                ? RowScheduler(plan, traits, elements, std::move(version)).Run()
                                                : Columns(plan, traits, elements, std::move(version));
      all.insert(all.end(), rows.begin(), rows.end());
    } else {
      all.push_back(ThreadPerElement(plan, elements, std::move(version)));
    }
  }
  return schedule;
}

std::string CudaVersion::ShapeText() const {
  const std::string vectors = lanes > 1 ? absl::StrCat(", lanes ", lanes) : "";
  switch (shape) {
    case Shape::kThreadPerElement:
      return absl::StrCat("thread per element", vectors);
    case Shape::kRows:
      return absl::StrCat(row_threads, " threads per ", together ? "part of a row" : "row", vectors,
                          turns > 0 ? absl::StrCat(", turns ", turns) : "");
    case Shape::kColumns:
      return together ? "parts of columns" : "columns";
    case Shape::kTransposed:
      return "transposed tiles";
    case Shape::kAttentionTile:
      return attention.Text();
    default:
      return absl::StrCat("tile ", tile.Text());
  }
}

std::string CudaVersion::Text() const {
  const auto text = [](const DimExpr& value) { return value.ToText(LaunchSymbolText); };
  const std::string cut = shape == Shape::kProductTile ? absl::StrCat(", parts of ", text(parts), " steps")
                                                       : absl::StrCat(", ", text(parts), " parts");
  return absl::StrCat(VersionText(version), ": ", ShapeText(), ", threads ", threads, ", blocks ", text(blocks),
                      ", shared bytes ", text(shared_bytes), ", scratch bytes ", text(scratch_bytes),
                      clocks == 0 ? "" : absl::StrCat(", clocks ", text(clocks)),
                      together ? absl::StrCat(cut, ", ", resident_blocks, " blocks resident") : "", "\n");
}

std::string CudaSchedule::Text() const {
  std::string out;
  for (const CudaVersion& version : versions) out += version.Text();
  return out;
}

}  // namespace tailor
