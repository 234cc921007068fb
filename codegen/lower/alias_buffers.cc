#include "codegen/lower/alias_buffers.h"

#include <algorithm>
#include <map>
#include <set>

#include "codegen/plan/plan_queries.h"

namespace tailor::lower {
namespace {

bool InOrder(const Axis& axis) { return axis.role == AxisRole::kOrdered || axis.role == AxisRole::kContract; }

bool WritesOutput(const KernelPlan& plan, const Statement& statement) {
  return plan.buffers[statement.buffer].kind == BufferKind::kOutput;
}

// The only statement that stores to an output, if it is the last one of the last stage; else null.
const Statement* OnlyStore(const KernelPlan& plan) {
  if (plan.stages.empty() || plan.stages.back().statements.empty()) return nullptr;
  int64_t stores = 0;
  for (const Stage& stage : plan.stages) {
    stores += std::count_if(stage.statements.begin(), stage.statements.end(),
                            [&](const Statement& statement) { return WritesOutput(plan, statement); });
  }
  const Statement& last = plan.stages.back().statements.back();
  return stores == 1 && WritesOutput(plan, last) ? &last : nullptr;
}

// Whether each iteration of the loops around `store` writes a different element.
bool WritesEachOnce(const KernelPlan& plan, const Statement& store) {
  const std::vector<int>& looped = plan.stages.back().axes;
  for (int axis = 0; axis < static_cast<int>(plan.axes.size()); ++axis) {
    const bool runs =
        plan.axes[axis].role == AxisRole::kParallel || std::find(looped.begin(), looped.end(), axis) != looped.end();
    if (!runs || plan.axes[axis].dim_size == DimSize{.constant = 1}) continue;
    const bool indexed = std::any_of(store.indices.begin(), store.indices.end(), [&](ExprId index) {
      return plan.exprs[index].kind == ExprKind::kAxis && plan.exprs[index].ref == axis;
    });
    if (!indexed) return false;
  }
  return true;
}

}  // namespace

bool CanAlias(const KernelPlan& plan, int input, int output) {
  const Buffer &from = plan.buffers[input], &to = plan.buffers[output];
  if (from.dims != to.dims || SizeOf(from.dtype) != SizeOf(to.dtype) || from.layout != to.layout) return false;
  if (plan.IsContraction() || std::any_of(plan.axes.begin(), plan.axes.end(), InOrder)) return false;
  const Statement* store = OnlyStore(plan);
  if (store == nullptr || store->buffer != output || !WritesEachOnce(plan, *store)) return false;
  const std::vector<ExprId> exprs = ReachableExprs(plan);
  return std::all_of(exprs.begin(), exprs.end(), [&](ExprId id) {
    const Expr& e = plan.exprs[id];
    return e.kind != ExprKind::kLoad || e.ref != input || e.args == store->indices;
  });
}

namespace {

class Reuse {
 public:
  Reuse(const std::vector<KernelPlan>& kernels, host::HostProgram& program) : kernels_(kernels), program_(program) {}

  void Run() {
    for (int step = 0; step < static_cast<int>(program_.steps.size()); ++step) {
      const int index = program_.steps[step].index;
      if (!program_.steps[step].call && index >= 0) Visit(program_.launches[index], step);
    }
    std::map<int, int> numbers;
    for (host::HostBuffer& buffer : program_.buffers) {
      if (buffer.place != host::HostBuffer::Place::kWorkspace) continue;
      buffer.index = numbers.try_emplace(buffer.index, static_cast<int>(numbers.size())).first->second;
    }
  }

 private:
  using Place = host::HostBuffer::Place;

  void Visit(const host::Launch& launch, int step) {
    const KernelPlan& plan = kernels_[launch.kernel];
    for (int output = 0; output < static_cast<int>(launch.buffers.size()); ++output) {
      host::HostBuffer& to = program_.buffers[launch.buffers[output]];
      if (plan.buffers[output].kind != BufferKind::kOutput || !written_.insert(launch.buffers[output]).second) continue;
      if (IsBlock(to) ? to.first_step != step : !IsPlacedByRuntime(to)) continue;
      for (int input = 0; input < output; ++input) {
        const host::HostBuffer& from = program_.buffers[launch.buffers[input]];
        if (plan.buffers[input].kind != BufferKind::kInput || from.last_step != step) continue;
        if (IsBlock(to) ? !IsBlock(from) && !IsDonated(from) : !IsDonated(from) || !IsOfItsType(to, from)) continue;
        const bool once = std::count(launch.buffers.begin(), launch.buffers.end(), launch.buffers[input]) == 1;
        if (!once || !CanAlias(plan, input, output)) continue;
        TakeMemory(from, to);
        break;
      }
    }
  }

  void TakeMemory(const host::HostBuffer& from, host::HostBuffer& to) {
    if (!IsBlock(to)) {
      program_.memory_of[to.index] = from.index;
      return;
    }
    to.place = from.place;
    to.index = from.index;
  }

  static bool IsBlock(const host::HostBuffer& buffer) { return buffer.place == Place::kWorkspace; }
  // Not if an output has its memory already: what updates it there reads it without an operand.
  bool IsDonated(const host::HostBuffer& buffer) const {
    const std::vector<int>& taken = program_.memory_of;
    return buffer.place == Place::kInput && program_.donated[buffer.index] &&
           std::find(taken.begin(), taken.end(), buffer.index) == taken.end();
  }
  // An aliased output needs the input's dtype: the caller knows the memory by that dtype.
  bool IsOfItsType(const host::HostBuffer& output, const host::HostBuffer& from) const {
    return program_.buffers[from.index].dtype == output.dtype;  // inputs are the first buffers
  }
  // Whether the runtime places this output, and it does not alias an input yet.
  bool IsPlacedByRuntime(const host::HostBuffer& buffer) const {
    if (buffer.place != Place::kOutput || program_.memory_of[buffer.index] >= 0) return false;
    const std::vector<int>& numbers = program_.output_numbers;
    const auto at = std::find(numbers.begin(), numbers.end(), buffer.index) - numbers.begin();
    return program_.output_sources[at] == host::HostProgram::Output::kRuntime;
  }

  const std::vector<KernelPlan>& kernels_;
  host::HostProgram& program_;
  std::set<int> written_;  // buffers that an earlier launch has written
};

}  // namespace

void AliasBuffers(const std::vector<KernelPlan>& kernels, host::HostProgram& program) { Reuse(kernels, program).Run(); }

}  // namespace tailor::lower
