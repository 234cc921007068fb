#include "codegen/cuda/schedule/schedule_rows.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "codegen/cuda/schedule/access.h"
#include "codegen/cuda/schedule/schedule_parts.h"
#include "codegen/plan/plan_queries.h"

namespace tailor::cuda {
namespace {

using RunShape = CudaVersion::Shape;

constexpr int64_t kMaxScratchBlocks = 512;  // each has a row in global memory
constexpr int kBlockThreads = 256;
constexpr int kLongThreads = 512;  // for rows longer than kLong elements: few rows must keep all of memory busy
constexpr int64_t kLong = 8192;
constexpr int kPackedThreads = 128;         // of blocks with several rows
constexpr int64_t kPackedBytes = 48 << 10;  // of their row buffers: four such blocks fit a multiprocessor
constexpr int kMostVectors = 8;             // of a thread that holds its part of a row in registers

// The last axis of all loops within rows; -1 if they differ or there are none.
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
    if (plan.exprs[id].kind == ExprKind::kOp) cost += InfoOf(plan.exprs[id].op).cost;
  }
  return cost;
}

// Cells of shared memory per reduction.
int64_t Cells(const CudaVersion& version) {
  if (version.shape == RunShape::kColumns) return version.threads;
  return version.row_threads <= kWarp ? 0 : version.row_threads / kWarp;
}

class RowScheduler {
 public:
  RowScheduler(const KernelPlan& plan, const TargetTraits& traits, const SlotExpr& rows, Version version)
      : plan_(plan), traits_(traits), rows_(rows), row_bytes_(RowBytes(plan)), axis_(RowAxis(plan)) {
    if (axis_ >= 0) longest_ = MaxOf(plan, plan.axes[axis_].dim_size);
    base_.lanes = axis_ < 0 ? 1 : LanesAlong(plan, axis_, version.no_broadcast);
    base_.lane_axis = base_.lanes > 1 ? axis_ : -1;
    base_.version = std::move(version);
    base_.shape = RunShape::kRows;
  }

  // Order of trial: rows that blocks share, rows of a few threads, of a warp, of a block.
  std::vector<CudaVersion> Run() {
    if (TryLongRows()) return std::move(versions_);
    if (TryParts()) return std::move(versions_);
    const bool holds = HoldsRows(kMostVectors);
    // Stages that only read do not need whole cache lines per warp.
    if (holds && !HasScratch(plan_) && StoresNoRow() ? TryPacked(4, 4) : TryPacked(8, 2)) return std::move(versions_);
    if (holds && TryPacked(kWarp, 2)) return std::move(versions_);
    if (TryPacked(kWarp, kMostVectors)) return std::move(versions_);
    if (axis_ >= 0 && longest_ > kLong && !plan_.axes[axis_].dim_size.is_constant()) {
      if (holds && StoresNoRow() && base_.lanes * kBlockThreads * kMostVectors / 2 < kLong) {
        AddBlocks(kBlockThreads, base_.lanes * kBlockThreads * kMostVectors / 2);
      }
      AddBlocks(kBlockThreads, kLong);
    }
    AddBlocks(longest_ > kLong && IsSmall() ? kLongThreads : kBlockThreads, longest_);
    return std::move(versions_);
  }

 private:
  // Whether a thread may hold its part of a row, `vectors` vectors, in registers: each loop is over the row only, no
  // thread reads what another wrote, and the held values leave registers for the computation.
  bool HoldsRows(int vectors) const {
    constexpr int64_t kMostHeld = 96;  // registers
    if (axis_ < 0 || base_.lanes == 1 || !IsSmall() || !ExchangedIsThreadPrivate(plan_)) return false;
    if (plan_.axes[axis_].dim_size == DimSize{.constant = 0}) return false;
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
    return registers * base_.lanes * vectors <= kMostHeld;
  }

  bool StoresNoRow() const {
    return std::all_of(plan_.stages.begin(), plan_.stages.end(), [](const Stage& stage) {
      return stage.axes.empty() || std::all_of(stage.statements.begin(), stage.statements.end(),
                                               [](const Statement& s) { return !s.reduce_axes.empty(); });
    });
  }

  // Adds a version with one block per row, for long rows that are only read and are many enough to keep memory busy.
  // All loads of a row are in flight at once. True if it takes all rows.
  bool TryLongRows() {
    constexpr int64_t kMany = 32;
    constexpr int kLongVectors = 16;
    if (!HoldsRows(kLongVectors) || !StoresNoRow() || longest_ <= kLong) return false;
    CudaVersion version = base_;
    version.threads = version.row_threads = kLongThreads;
    version.vectors_per_thread = kLongVectors;
    const int64_t reach = int64_t{kLongThreads} * version.lanes * kLongVectors;
    const DimSize& dim_size = plan_.axes[axis_].dim_size;
    if ((dim_size.is_constant() && longest_ > reach) || rows_.constant().value_or(kMany) < kMany) return false;
    std::vector<Guard>& guards = version.version.guards;
    if (!dim_size.is_constant()) {
      guards.push_back({.kind = Guard::Kind::kAtLeast, .slot = dim_size.slot, .number = kLong + 1});
      guards.push_back({.kind = Guard::Kind::kAtMost, .slot = dim_size.slot, .number = reach});
    }
    if (const auto slot = rows_.slot()) {
      guards.push_back({.kind = Guard::Kind::kAtLeast, .slot = *slot, .number = kMany});
    } else if (!rows_.constant()) {
      guards.push_back({.kind = Guard::Kind::kValueAtLeast, .number = kMany, .value = rows_});
    }
    version.blocks = SlotExpr::Min(rows_, kMaxRowBlocks);
    version.partial_bytes = PartialBytes(version);
    version.shared_bytes = version.partial_bytes;
    version.scratch_bytes = 0;
    versions_.push_back(std::move(version));
    return versions_.back().version.guards.empty();
  }

  // Adds a version with several blocks per row. True if it takes all rows.
  bool TryParts() {
    CudaVersion version = base_;
    version.threads = kWarp;
    while (version.threads < kBlockThreads && version.threads * version.lanes < traits_.elements_per_part) {
      version.threads *= 2;
    }
    version.row_threads = version.threads;
    version.partial_bytes = PartialBytes(version);
    version.resident_blocks = IsSmall() ? 4 : 2;
    const auto parts = SplitIntoParts(plan_, traits_, rows_, std::move(version));
    if (!parts) return false;
    versions_.push_back(*parts);
    return parts->version.guards.empty();
  }

  // Adds a version with several rows per block, of at most `vectors` vectors per thread. True if no row is longer than
  // that.
  bool TryPacked(int row_threads, int vectors) {
    if (axis_ < 0) return false;
    CudaVersion version = base_;
    version.threads = kPackedThreads;
    version.row_threads = row_threads;
    version.vectors_per_thread = HoldsRows(vectors) ? vectors : 0;
    const int64_t reach = int64_t{row_threads} * base_.lanes * vectors;
    const DimSize& dim_size = plan_.axes[axis_].dim_size;
    const bool fits_all = longest_ <= reach;
    if (!fits_all && dim_size.is_constant()) return false;
    const auto bytes = BytesAt(dim_size, reach);
    if (!bytes || *bytes * version.points() > kPackedBytes) return false;
    if (!fits_all) {
      version.version.guards.push_back({.kind = Guard::Kind::kAtMost, .slot = dim_size.slot, .number = reach});
    }
    version.blocks = SlotExpr::Min(SlotExpr::CeilDiv(rows_, version.points()), kMaxRowBlocks);
    version.rows_in_shared = true;
    version.shared_bytes = row_bytes_ * version.points();
    version.scratch_bytes = 0;
    versions_.push_back(std::move(version));
    return fits_all;
  }

  // Bytes of row buffers at a row dim size of `length`; nullopt if they depend on more.
  std::optional<int64_t> BytesAt(const DimSize& dim_size, int64_t length) const {
    if (auto bytes = row_bytes_.constant()) return bytes;
    const std::vector<int32_t> slots = row_bytes_.Slots();
    if (dim_size.is_constant() || slots.size() != 1 || slots[0] != dim_size.slot) return std::nullopt;
    std::vector<int64_t> dims(plan_.dims.size(), 0);
    dims[slots[0]] = length;
    return row_bytes_.Evaluate(dims);
  }

  // Whether the registers per thread of a block of kLongThreads suffice.
  bool IsSmall() const { return MostReductions(plan_) <= 2 && CostOf(plan_) <= 64; }

  int64_t PartialBytes(const CudaVersion& version) const { return (ReductionBytes(plan_, version) + 63) / 64 * 64; }

  // Adds versions with one block per row, for rows of at most `reach` elements; `reach` == longest_ is no bound.
  void AddBlocks(int most_threads, int64_t reach) {
    CudaVersion version = base_;
    if (reach < longest_) {
      const DimSize& dim_size = plan_.axes[axis_].dim_size;
      version.version.guards.push_back({.kind = Guard::Kind::kAtMost, .slot = dim_size.slot, .number = reach});
    }
    version.threads = kWarp;
    while (version.threads < most_threads && version.threads * version.lanes < longest_) version.threads *= 2;
    version.row_threads = version.threads;
    const int at_once = version.threads * version.lanes;
    const int vectors =
        reach <= int64_t{kMostVectors} * at_once ? static_cast<int>((reach + at_once - 1) / at_once) : 0;
    // Kernels that also write rows run better with many blocks, each with few registers.
    if (StoresNoRow() && HoldsRows(vectors)) version.vectors_per_thread = vectors;
    version.blocks = SlotExpr::Min(rows_, kMaxRowBlocks);
    version.partial_bytes = PartialBytes(version);
    PlaceRows(version, reach);
  }

  // Row buffers lie in shared memory if they fit: always, under a bound on the one slot they depend on, or never.
  void PlaceRows(const CudaVersion& rows, int64_t reach) {
    CudaVersion shared = rows, scratch = rows;
    shared.rows_in_shared = true;
    shared.shared_bytes = rows.partial_bytes + row_bytes_;
    shared.scratch_bytes = 0;
    // Row buffers in scratch: their addresses take registers, of which threads of larger blocks have too few.
    scratch.vectors_per_thread = 0;
    scratch.threads = scratch.row_threads = std::min(rows.threads, kBlockThreads);
    scratch.partial_bytes = PartialBytes(scratch);
    scratch.shared_bytes = scratch.partial_bytes;
    scratch.scratch_bytes = row_bytes_;
    scratch.blocks = SlotExpr::Min(rows_, kMaxScratchBlocks);
    const int64_t budget = traits_.regional_bytes - rows.partial_bytes;
    if (auto bytes = row_bytes_.constant()) return versions_.push_back(*bytes <= budget ? shared : scratch);
    const std::vector<int32_t> slots = row_bytes_.Slots();
    if (slots.size() != 1) return versions_.push_back(scratch);
    const bool is_length = axis_ >= 0 && plan_.axes[axis_].dim_size.slot == slots[0];
    const int64_t most = is_length ? reach : plan_.dims[slots[0]].max;
    const int64_t fitting = LongestWithin(budget, slots[0]);
    if (most <= fitting) return versions_.push_back(shared);
    shared.version.guards.push_back({.kind = Guard::Kind::kAtMost, .slot = slots[0], .number = fitting});
    versions_.push_back(shared);
    versions_.push_back(scratch);
  }

  // The greatest value of `slot`, the only slot, at which row buffers take no more than `budget` bytes.
  int64_t LongestWithin(int64_t budget, SymbolId slot) const {
    std::vector<int64_t> dims(plan_.dims.size(), 0);
    int64_t low = 0, high = budget + 1;  // fits at low; at least a byte per element, so not at high
    while (high - low > 1) {
      const int64_t middle = low + (high - low) / 2;
      dims[slot] = middle;
      (row_bytes_.Evaluate(dims).value_or(INT64_MAX) <= budget ? low : high) = middle;
    }
    return low;
  }

  const KernelPlan& plan_;
  const TargetTraits& traits_;
  const SlotExpr rows_;
  const SlotExpr row_bytes_;
  const int axis_;
  int64_t longest_ = 1;
  CudaVersion base_;
  std::vector<CudaVersion> versions_;
};

}  // namespace

int64_t ReductionBytes(const KernelPlan& plan, const CudaVersion& version) {
  constexpr int64_t kCell = 8;  // bytes of one partial result
  return MostReductions(plan) * Cells(version) * kCell;
}

std::vector<CudaVersion> ScheduleRows(const KernelPlan& plan, const TargetTraits& traits, const SlotExpr& rows,
                                      Version version) {
  return RowScheduler(plan, traits, rows, std::move(version)).Run();
}

}  // namespace tailor::cuda
