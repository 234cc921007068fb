// How the stages of a row are run by several threads, or blocks: in phases, between which they meet (AStitch section
// 3.1, the global scheme).
#ifndef TAILOR_CODEGEN_PLAN_STAGE_PHASES_H_
#define TAILOR_CODEGEN_PLAN_STAGE_PHASES_H_

#include <cstdint>
#include <vector>

#include "codegen/plan/kernel_plan.h"

namespace tailor {

// Of a whole row, not a scan of it.
bool IsReduction(const KernelPlan& plan, const Statement& s);

// Stages [first, end) of a plan.
struct Phase {
  int first = 0, end = 0;
  bool once = true;  // no stage has loops: there is nothing to share
};

// All stages in order. A phase ends behind a reduction, whose parts only the next can put together, and behind what
// other threads read back.
std::vector<Phase> PhasesOf(const KernelPlan& plan);

// Bit i: phase i has no loops. Requires at most 32 phases.
uint32_t PhasesWithoutLoops(const std::vector<Phase>& phases);

// By buffer: whether it is a local that a stage before the phase defines and the phase needs, be it for such a local.
std::vector<bool> LocalsNeeded(const KernelPlan& plan, const Phase& phase);

// The locals that reductions define, in order.
std::vector<int> ReducedLocals(const KernelPlan& plan);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_PLAN_STAGE_PHASES_H_
