#include "codegen/cpu/loops/window_loops.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "codegen/cpu/loops/plane_windows.h"
#include "codegen/cpu/loops/row_windows.h"
#include "codegen/cpu/loops/windowed_reduction.h"
#include "codegen/ir/emit_loop.h"
#include "codegen/plan/plan_queries.h"
#include "codegen/scalar/scalar_emitter.h"

namespace tailor::cpu {
namespace {

using llvm::Value;

// Results of a plane up to which lanes run across planes. The rows of many planes are far apart: of large ones they
// come from memory more slowly than those of one plane, unless each element takes part in many results. With eight
// lanes or less, transposing takes long beside the few steps of a small window.
int64_t LargestPlane(const WindowedReduction& windows, int lanes) {
  constexpr int64_t kManySteps = 25, kLarge = 1 << 12, kLargeOfFewLanes = 800, kLargeOfManySteps = 1 << 14;
  if (windows.steps() < kManySteps) return lanes < 16 ? kLargeOfFewLanes : kLarge;
  return windows.strides() == 1 ? kLargeOfManySteps : kLarge;
}

// How lanes run: along rows of results, across planes, or by the dim sizes of a launch either way.
struct WindowLanes {
  bool of_rows = false, of_planes = false;
  int plane = -1;  // the axis across planes
};

WindowLanes LanesOf(const KernelPlan& plan, const WindowedReduction& windows, int lanes) {
  WindowLanes found;
  found.plane = windows.is_long() ? -1 : PlaneAxisOf(plan, windows, lanes);
  found.of_rows = !windows.is_channels_last() && RowBlock(plan, windows, 0, lanes) > 0;
  if (found.plane < 0) return found;
  int64_t most = 1;
  bool is_fixed = true;
  for (const WindowSide& side : windows.sides) {
    const DimSize& dim_size = plan.axes[side.result].dim_size;
    if (__builtin_mul_overflow(most, std::max<int64_t>(1, MaxOf(plan, dim_size)), &most)) most = INT64_MAX;
    is_fixed = is_fixed && dim_size.is_constant();
  }
  const bool is_small = most <= LargestPlane(windows, lanes);
  found.of_planes = is_small || !is_fixed || !found.of_rows;
  found.of_rows = found.of_rows && !is_small;
  return found;
}

// 1 where planes of results are larger than LargestPlane, else 0.
SlotExpr IsLargePlane(const KernelPlan& plan, const WindowedReduction& windows, int lanes) {
  SlotExpr results = 1;
  for (const WindowSide& side : windows.sides) results = results * OverSlots(plan.axes[side.result].dim_size);
  const int64_t least = LargestPlane(windows, lanes) + 1;
  return SlotExpr::FloorDiv(SlotExpr::Min(results, least), least);
}

// Schedule::tasks and tasks_per_chunk.
struct WindowTasks {
  SlotExpr count, per_chunk;
};

// Of blocks of results. `lanes_across`: planes per task; 1 where lanes run along rows. `block`: results along a side.
WindowTasks TasksOfBlocks(const KernelPlan& plan, const WindowedReduction& windows, int plane, int64_t lanes_across,
                          int64_t elements_per_chunk, absl::FunctionRef<int64_t(size_t side)> block) {
  SlotExpr tasks = 1, per_task = 1;
  for (int axis : windows.outer) {
    const SlotExpr dim_size = OverSlots(plan.axes[axis].dim_size);
    tasks = tasks * (axis == plane ? SlotExpr::CeilDiv(dim_size, lanes_across) : dim_size);
  }
  for (size_t side = 0; side < windows.sides.size(); ++side) {
    const SlotExpr dim_size = OverSlots(plan.axes[windows.sides[side].result].dim_size);
    tasks = tasks * SlotExpr::CeilDiv(dim_size, block(side));
    per_task = per_task * SlotExpr::Min(dim_size, block(side)) * windows.sides[side].size;
  }
  per_task = per_task * lanes_across;
  return {tasks, SlotExpr::Max(1, SlotExpr::FloorDiv(elements_per_chunk, SlotExpr::Max(1, per_task)))};
}

// Adds function `name`, which calls `of_rows` or `of_planes` with its arguments. Neither is inlined: their stack frames
// would add up.
void EmitChoiceOfLanes(const KernelPlan& plan, const WindowedReduction& windows, const Schedule& schedule,
                       const std::string& of_rows, const std::string& of_planes, const std::string& name,
                       llvm::Module& module) {
  llvm::IRBuilder<> b(module.getContext());
  const KernelFrame frame = OpenKernelFunction(b, module, plan, KernelSignature::OnHost(plan, schedule), name);
  llvm::Function* function = b.GetInsertBlock()->getParent();
  Value* results = b.getInt64(1);
  for (const WindowSide& side : windows.sides) {
    results = b.CreateMul(results, frame.DimSizeValue(b, plan.axes[side.result].dim_size), "results");
  }
  Value* is_large = b.CreateICmpSGT(results, b.getInt64(LargestPlane(windows, schedule.lanes)), "is_large");
  std::vector<Value*> arguments;
  for (llvm::Argument& argument : function->args()) arguments.push_back(&argument);
  for (const bool rows : {true, false}) {
    llvm::Function* callee = module.getFunction(rows ? of_rows : of_planes);
    callee->setLinkage(llvm::Function::InternalLinkage);
    callee->addFnAttr(llvm::Attribute::NoInline);
    EmitIf(b, rows ? is_large : b.CreateNot(is_large), rows ? "large" : "small",
           [&] { b.CreateCall(callee, arguments); });
  }
  b.CreateRetVoid();
}

}  // namespace

bool ScheduleWindowLoops(const KernelPlan& plan, int64_t cost, Schedule& schedule) {
  if (schedule.lanes == 1) return false;
  const std::optional<WindowedReduction> windows = FindWindowedReduction(plan);
  if (!windows) return false;
  const WindowLanes lanes = LanesOf(plan, *windows, schedule.lanes);
  if (!lanes.of_rows && !lanes.of_planes) return false;
  schedule.windows = true;
  schedule.lane_axis = lanes.of_rows ? windows->sides.back().result : lanes.plane;
  schedule.versions = BroadcastVersions(plan);
  schedule.scratch_bytes = 0;
  const int64_t elements_per_chunk = int64_t{10000} * schedule.lanes / cost;
  WindowTasks rows, planes;
  if (lanes.of_rows) {
    rows = TasksOfBlocks(plan, *windows, -1, 1, elements_per_chunk,
                         [&](size_t side) { return RowBlock(plan, *windows, side, schedule.lanes); });
  }
  if (lanes.of_planes) {
    planes = TasksOfBlocks(plan, *windows, lanes.plane, schedule.lanes, elements_per_chunk,
                           [&](size_t side) { return PlaneBlock(*windows, side, schedule.lanes); });
  }
  const SlotExpr is_large = !lanes.of_planes ? SlotExpr(1)
                            : lanes.of_rows  ? IsLargePlane(plan, *windows, schedule.lanes)
                                             : SlotExpr(0);
  schedule.tasks = planes.count + is_large * (rows.count - planes.count);
  schedule.tasks_per_chunk = planes.per_chunk + is_large * (rows.per_chunk - planes.per_chunk);
  return true;
}

void EmitWindowLoops(const KernelPlan& plan, const Schedule& schedule, const EmitTarget& target,
                     const std::string& name, llvm::Module& module) {
  const std::optional<WindowedReduction> windows = FindWindowedReduction(plan);
  const WindowLanes lanes = LanesOf(plan, *windows, schedule.lanes);
  for (size_t v = 0; v < schedule.versions.size(); ++v) {
    const Version& version = schedule.versions[v];
    const std::string symbol = absl::StrCat(name, "_v", v);
    const bool both = lanes.of_rows && lanes.of_planes;
    const std::string of_rows = both ? absl::StrCat(symbol, "_rows") : symbol;
    const std::string of_planes = both ? absl::StrCat(symbol, "_planes") : symbol;
    if (lanes.of_rows) EmitRowWindows(plan, *windows, schedule, version, target, of_rows, module);
    if (lanes.of_planes) {
      EmitPlaneWindows(plan, *windows, lanes.plane, schedule, version, target, of_planes, module);
    }
    if (both) EmitChoiceOfLanes(plan, *windows, schedule, of_rows, of_planes, symbol, module);
  }
}

}  // namespace tailor::cpu
