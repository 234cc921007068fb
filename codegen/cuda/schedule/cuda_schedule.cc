#include "codegen/cuda/schedule/cuda_schedule.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/cuda/schedule/access.h"
#include "codegen/cuda/schedule/cuda_schedule_fields.h"
#include "codegen/cuda/schedule/schedule_parts.h"
#include "codegen/cuda/schedule/schedule_rows.h"
#include "codegen/cuda/schedule/transposed_tiles.h"
#include "codegen/plan/plan_queries.h"
#include "graph/status_macros.h"

namespace tailor::cuda {
namespace {

using RunShape = CudaVersion::Shape;

constexpr int64_t kMaxElementBlocks = 4096;  // several waves of every GPU; grid-stride loops do the rest

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

// The memory accesses within loops over tile axes; all accesses if there are no such loops.
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

// Threads of a block follow the axis along which most accesses are contiguous: a warp then reads whole cache lines.
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
    if (is_tile) work = std::max(work, MaxOf(plan, plan.axes[axis].dim_size));
  }
  if (tile > parallel) return RunShape::kRows;
  constexpr int64_t kShared = 16;  // elements of a column that are worth sharing
  return Reduces(plan) && work >= kShared ? RunShape::kColumns : RunShape::kThreadPerElement;
}

CudaVersion ThreadPerElement(const KernelPlan& plan, const SlotExpr& elements, Version version) {
  CudaVersion out{.shared_bytes = 0, .scratch_bytes = 0};
  const std::vector<int> axes = AxesOf(plan, AxisRole::kParallel);
  const int axis = axes.empty() ? -1 : axes.back();
  out.lanes = axis < 0 || HasOrderedAxes(plan) ? 1 : LanesAlong(plan, axis, version.no_broadcast);
  out.lane_axis = out.lanes > 1 ? axis : -1;
  out.blocks = SlotExpr::Min(SlotExpr::CeilDiv(elements, out.threads * out.lanes), kMaxElementBlocks);
  out.version = std::move(version);
  return out;
}

// Versions for columns: shared by blocks (the only version if it has no guards), then by the threads of a block. If a
// block has no room for the reductions, a thread per element instead.
std::vector<CudaVersion> Columns(const KernelPlan& plan, const TargetTraits& traits, const SlotExpr& elements,
                                 Version version) {
  CudaVersion out{.version = version, .shape = RunShape::kColumns, .scratch_bytes = 0};
  out.resident_blocks = 4;
  const auto bytes = [&] { return ReductionBytes(plan, out); };
  while (bytes() > traits.regional_bytes && out.threads > kWarp) out.threads /= 2;
  if (bytes() > traits.regional_bytes) return {ThreadPerElement(plan, elements, std::move(version))};
  out.partial_bytes = bytes();
  out.shared_bytes = out.partial_bytes;
  std::vector<CudaVersion> versions;
  if (const auto parts = SplitIntoParts(plan, traits, elements, out)) versions.push_back(*parts);
  if (!versions.empty() && versions[0].version.guards.empty()) return versions;
  out.resident_blocks = 0;
  out.blocks = SlotExpr::Min(SlotExpr::CeilDiv(elements, out.points()), kMaxRowBlocks);
  versions.push_back(std::move(out));
  return versions;
}

CudaVersion Transposed(const KernelPlan& plan, const Transposition& how) {
  CudaVersion out{.shape = RunShape::kTransposed, .threads = kTransposeThreads, .scratch_bytes = 0};
  out.shared_bytes = SharedBytes(plan, how);
  SlotExpr tiles = 1;
  for (int axis = 0; axis < static_cast<int>(plan.axes.size()); ++axis) {
    const SlotExpr dim_size = OverSlots(plan.axes[axis].dim_size);
    const bool is_tiled = axis == how.stored || axis == how.loaded;
    tiles = tiles * (is_tiled ? SlotExpr::CeilDiv(dim_size, kTransposeTile) : dim_size);
  }
  out.blocks = SlotExpr::Min(tiles, kMaxRowBlocks);
  return out;
}

}  // namespace

int CudaVersion::points() const {
  if (shape == RunShape::kColumns) return kWarp;
  return shape == RunShape::kRows ? threads / row_threads : threads;
}

KernelSignature CudaVersion::Signature(const KernelPlan& plan) const {
  using Sync = KernelSignature::Sync;
  return KernelSignature(
      plan, {.sync = cooperative ? Sync::kGridBarriers : Sync::kNone, .tensor_maps = static_cast<int>(maps.size())});
}

CudaSchedule ScheduleCudaLoops(const KernelPlan& plan, const TargetTraits& traits) {
  assert(!plan.IsContraction() && !plan.IsChain());
  SlotExpr elements = 1;
  for (const Axis& axis : plan.axes) {
    if (axis.role == AxisRole::kParallel) elements = elements * OverSlots(axis.dim_size);
  }
  if (const auto transposition = TransposedTiles(plan)) return {{Transposed(plan, *transposition)}};
  const RunShape shape = ChooseShape(plan);
  CudaSchedule schedule;
  for (Version& version : BroadcastVersions(plan)) {
    std::vector<CudaVersion>& all = schedule.versions;
    if (shape == RunShape::kRows || shape == RunShape::kColumns) {
      const std::vector<CudaVersion> rows = shape == RunShape::kRows
                                                ? ScheduleRows(plan, traits, elements, std::move(version))
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
      return absl::StrCat(row_threads, " threads per ", cooperative ? "part of a row" : "row", vectors,
                          vectors_per_thread > 0 ? absl::StrCat(", ", vectors_per_thread, " vectors per thread") : "");
    case Shape::kColumns:
      return cooperative ? "parts of columns" : "columns";
    case Shape::kTransposed:
      return "transposed tiles";
    case Shape::kAttentionTile:
      return attention.Text();
    default:
      return absl::StrCat("tile ", tile.Text());
  }
}

std::string CudaVersion::Text() const { return RecordText(*this); }

std::string CudaSchedule::Text() const { return ValueText(versions); }

absl::StatusOr<CudaSchedule> ParseCudaSchedule(absl::string_view text) {
  TextReader in(text);
  CudaSchedule schedule;
  TAILOR_RETURN_IF_ERROR(ParseValue(in, &schedule.versions));
  if (!in.AtEnd()) return in.Error("expected the end");
  return schedule;
}

}  // namespace tailor::cuda
