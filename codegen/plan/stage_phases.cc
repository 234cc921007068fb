#include "codegen/plan/stage_phases.h"

#include <algorithm>

#include "codegen/plan/plan_queries.h"

namespace tailor {
namespace {

// Whether a phase ends after `stage`: it reduces, or other threads read a value that it stores. Per-row values (no
// axes) are read by all threads.
bool EndsPhase(const KernelPlan& plan, const Stage& stage, bool kept_are_private) {
  return std::any_of(stage.statements.begin(), stage.statements.end(), [&](const Statement& s) {
    const bool exchanged = IsKept(plan, s.buffer) && (!kept_are_private || stage.axes.empty());
    return IsReduction(plan, s) || exchanged;
  });
}

// Marks the buffers that `id` loads.
void MarkLoads(const KernelPlan& plan, ExprId id, std::vector<bool>& seen, std::vector<bool>& loaded) {
  if (id < 0 || seen[id]) return;
  seen[id] = true;
  const Expr& e = plan.exprs[id];
  if (e.kind == ExprKind::kLoad) loaded[e.ref] = true;
  for (ExprId arg : e.args) MarkLoads(plan, arg, seen, loaded);
  MarkLoads(plan, e.predicate, seen, loaded);
}

}  // namespace

bool IsReduction(const KernelPlan& plan, const Statement& s) { return !s.reduce_axes.empty() && !IsScan(plan, s); }

std::vector<Phase> PhasesOf(const KernelPlan& plan) {
  const bool kept_are_private = ExchangedIsThreadPrivate(plan);
  std::vector<Phase> phases;
  bool open = false;
  for (int i = 0; i < static_cast<int>(plan.stages.size()); ++i) {
    const Stage& stage = plan.stages[i];
    if (!open) phases.push_back({i, i});
    phases.back().end = i + 1;
    phases.back().once &= stage.axes.empty();
    open = !EndsPhase(plan, stage, kept_are_private);
  }
  return phases;
}

uint32_t PhasesWithoutLoops(const std::vector<Phase>& phases) {
  uint32_t bits = 0;
  for (size_t i = 0; i < phases.size(); ++i) bits |= static_cast<uint32_t>(phases[i].once) << i;
  return bits;
}

std::vector<bool> LocalsNeeded(const KernelPlan& plan, const Phase& phase) {
  std::vector<bool> needed(plan.buffers.size()), seen(plan.exprs.size());
  const auto mark = [&](const Statement& s) {
    MarkLoads(plan, s.value, seen, needed);
    for (ExprId index : s.indices) MarkLoads(plan, index, seen, needed);
  };
  for (int i = phase.first; i < phase.end; ++i) {
    for (const Statement& s : plan.stages[i].statements) mark(s);
  }
  // Backwards: the locals that a needed local depends on are defined before it.
  std::vector<bool> wanted(plan.buffers.size());
  for (int i = phase.first; i-- > 0;) {
    const std::vector<Statement>& statements = plan.stages[i].statements;
    for (auto s = statements.rbegin(); s != statements.rend(); ++s) {
      if (!needed[s->buffer] || plan.buffers[s->buffer].kind != BufferKind::kLocal) continue;
      wanted[s->buffer] = true;
      if (!IsReduction(plan, *s)) mark(*s);
    }
  }
  return wanted;
}

std::vector<int> ReducedLocals(const KernelPlan& plan) {
  std::vector<int> locals;
  for (const Stage& stage : plan.stages) {
    for (const Statement& s : stage.statements) {
      if (IsReduction(plan, s)) locals.push_back(s.buffer);
    }
  }
  return locals;
}

}  // namespace tailor
