#include "codegen/cuda/schedule_cuda.h"

#include <algorithm>
#include <cassert>

#include "absl/strings/str_cat.h"
#include "codegen/plan_queries.h"

namespace tailor {
namespace {

constexpr int64_t kMaxElementBlocks = 4096;  // several waves of every GPU there is; loops do the rest
constexpr int64_t kMaxRowBlocks = 65536;

int64_t MaxOf(const KernelPlan& plan, const Extent& extent) {
  return extent.is_constant() ? extent.constant : plan.dims[extent.slot].max;
}

bool HasOrderedAxes(const KernelPlan& plan) {
  return std::any_of(plan.axes.begin(), plan.axes.end(),
                     [](const Axis& axis) { return axis.role == AxisRole::kOrdered; });
}

struct Access {
  int buffer;
  std::vector<ExprId> indices;
};

// The memory accesses inside loops over tile axes; all of them where there are none.
std::vector<Access> InnerAccesses(const KernelPlan& plan) {
  std::vector<Access> all, inner;
  for (const Expr& e : plan.exprs) {
    if (e.kind == ExprKind::kLoad) all.push_back({e.ref, e.args});
  }
  for (const Stage& stage : plan.stages) {
    for (const Statement& s : stage.statements) all.push_back({s.buffer, s.indices});
  }
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

// Whether neighbours along `axis` are neighbours in memory.
bool IsContiguous(KernelPlan& plan, const Access& access, int axis) {
  const Buffer& buffer = plan.buffers[access.buffer];
  if (access.indices.empty() || buffer.layout != ConstantLayout::kRowMajor) return false;
  for (size_t d = 0; d + 1 < access.indices.size(); ++d) {
    if (DependsOn(plan, access.indices[d], axis)) return false;
  }
  const ExprId step = CoefficientOf(plan, access.indices.back(), axis);
  return step >= 0 && plan.exprs[step].kind == ExprKind::kExtent && plan.exprs[step].extent == Extent{.constant = 1};
}

// Threads of a block follow the axis along which most accesses are contiguous: a warp then reads whole lines.
CudaVersion::Shape ChooseShape(const KernelPlan& original) {
  if (HasOrderedAxes(original)) return CudaVersion::Shape::kThreadPerElement;
  if (HasScratch(original)) return CudaVersion::Shape::kBlockPerRow;
  KernelPlan plan = original;  // coefficient queries append expressions
  const std::vector<Access> accesses = InnerAccesses(plan);
  int64_t parallel = 0, tile = -1;
  for (int axis = 0; axis < static_cast<int>(plan.axes.size()); ++axis) {
    int64_t& best = plan.axes[axis].role == AxisRole::kParallel ? parallel : tile;
    best = std::max<int64_t>(best, std::count_if(accesses.begin(), accesses.end(), [&](const Access& access) {
                               return IsContiguous(plan, access, axis);
                             }));
  }
  return tile > parallel ? CudaVersion::Shape::kBlockPerRow : CudaVersion::Shape::kThreadPerElement;
}

// As many threads as the longest loop of a row can use, whole warps, at most 256.
int ThreadsForRows(const KernelPlan& plan, int warp_size) {
  int64_t longest = 1;
  for (const Stage& stage : plan.stages) {
    if (!stage.axes.empty()) longest = std::max(longest, MaxOf(plan, plan.axes[stage.axes.back()].extent));
  }
  int threads = warp_size;
  while (threads < 256 && threads < longest) threads *= 2;
  return threads;
}

int64_t PartialBytes(const KernelPlan& plan, int threads, int warp_size) {
  if (threads == warp_size) return 0;
  int64_t most = 0;
  for (const Stage& stage : plan.stages) {
    most = std::max<int64_t>(most, std::count_if(stage.statements.begin(), stage.statements.end(),
                                                 [](const Statement& s) { return !s.reduce_axes.empty(); }));
  }
  return (most * (threads / warp_size) * 8 + 63) / 64 * 64;
}

// `rows`, whose buffers take `row_bytes`, with these in shared memory where they fit: always, under a bound on the one
// slot they depend on, or never.
std::vector<CudaVersion> PlaceRows(const KernelPlan& plan, const DimExpr& row_bytes, int64_t budget,
                                   const CudaVersion& rows) {
  CudaVersion shared = rows, scratch = rows;
  shared.rows_in_shared = true;
  shared.shared_bytes = rows.partial_bytes + row_bytes;
  scratch.shared_bytes = rows.partial_bytes;
  scratch.scratch_bytes = row_bytes;
  if (auto bytes = row_bytes.constant()) return {*bytes <= budget ? shared : scratch};
  const std::vector<SymbolId> slots = row_bytes.Symbols();
  if (slots.size() != 1) return {scratch};
  std::vector<int64_t> dims(plan.dims.size(), 0);
  int64_t low = 0, high = budget + 1;  // fits at low; a byte an element, so not at high
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    dims[slots[0]] = middle;
    (row_bytes.Evaluate(dims).value_or(INT64_MAX) <= budget ? low : high) = middle;
  }
  if (plan.dims[slots[0]].max <= low) return {shared};
  shared.version.guards = {{.kind = Guard::Kind::kAtMost, .slot = slots[0], .number = low}};
  return {shared, scratch};
}

}  // namespace

CudaSchedule ScheduleCudaLoops(const KernelPlan& plan, const TargetTraits& traits) {
  assert(!plan.contraction && plan.links.empty());
  DimExpr elements = 1;
  for (const Axis& axis : plan.axes) {
    if (axis.role == AxisRole::kParallel) elements = elements * OverSlots(axis.extent);
  }
  CudaVersion version{.shape = ChooseShape(plan), .shared_bytes = 0, .scratch_bytes = 0};
  if (version.shape == CudaVersion::Shape::kThreadPerElement) {
    version.blocks = DimExpr::Min(DimExpr::CeilDiv(elements, version.threads), kMaxElementBlocks);
    return {{version}};
  }
  version.threads = ThreadsForRows(plan, traits.warp_size);
  version.blocks = DimExpr::Min(elements, kMaxRowBlocks);
  version.partial_bytes = PartialBytes(plan, version.threads, traits.warp_size);
  return {PlaceRows(plan, RowBytes(plan), traits.regional_bytes - version.partial_bytes, version)};
}

std::string CudaVersion::ShapeText() const {
  switch (shape) {
    case Shape::kThreadPerElement:
      return "thread per element";
    case Shape::kBlockPerRow:
      return "block per row";
    default:
      return absl::StrCat("tile ", tile.Text());
  }
}

std::string CudaVersion::Text() const {
  auto slot = [](SymbolId id) { return absl::StrCat("d", id); };
  return absl::StrCat(VersionText(version), ": ", ShapeText(), ", threads ", threads, ", blocks ", blocks.ToText(slot),
                      ", shared bytes ", shared_bytes.ToText(slot), ", scratch bytes ", scratch_bytes.ToText(slot),
                      together ? ", together" : "", "\n");
}

std::string CudaSchedule::Text() const {
  std::string out;
  for (const CudaVersion& version : versions) out += version.Text();
  return out;
}

}  // namespace tailor
