// Phases: how several threads or blocks run the stages of one row, with a barrier between phases (AStitch section 3.1,
// the global scheme).
#ifndef TAILOR_CODEGEN_PLAN_STAGE_PHASES_H_
#define TAILOR_CODEGEN_PLAN_STAGE_PHASES_H_

#include <cstdint>
#include <vector>

#include "codegen/plan/kernel_plan.h"

namespace tailor {

// Whether `s` reduces a whole row; false for scans.
bool IsReduction(const KernelPlan& plan, const Statement& s);

// Stages [first, end) of a plan.
struct Phase {
  int first = 0, end = 0;
  bool once = true;  // no stage has loops: no work to split
};

// All stages in order. A phase ends after a reduction, whose partial results the next phase combines, and after stores
// that other threads read.
std::vector<Phase> PhasesOf(const KernelPlan& plan);

// Bit i: phase i has no loops. Requires at most 32 phases.
uint32_t PhasesWithoutLoops(const std::vector<Phase>& phases);

// Per buffer: whether it is a local that an earlier stage defines and the phase needs, directly or through such a
// local.
std::vector<bool> LocalsNeeded(const KernelPlan& plan, const Phase& phase);

// The locals that reductions define, in order.
std::vector<int> ReducedLocals(const KernelPlan& plan);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_PLAN_STAGE_PHASES_H_
