// Long tasks: tasks whose number of steps has no bound. Their kernels ask now and then whether the run is interrupted
// (exec/interrupt.h); all others leave that to whoever runs their tasks.
#ifndef TAILOR_CODEGEN_PLAN_LONG_TASKS_H_
#define TAILOR_CODEGEN_PLAN_LONG_TASKS_H_

#include <cstdint>
#include <optional>

#include "codegen/plan/kernel_plan.h"
#include "codegen/plan/schedule.h"

namespace tailor {

// A loop that runs in blocks of `steps` iterations, with a poll before each.
struct PollPoint {
  int axis = -1;
  int64_t steps = 0;
};

// Of a stage with ordered loops, which are never divided into tasks: the innermost that can be long, if any.
std::optional<PollPoint> PollPointOf(const KernelPlan& plan, const Stage& stage);

// Whether the kernel polls within its tasks on the host, and so has KernelParameter::kContext. Loops poll at their
// PollPoints, matmuls before each part of K (ContractionTile::depth).
bool PollsOnHost(const KernelPlan& plan, const Schedule& schedule);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_PLAN_LONG_TASKS_H_
