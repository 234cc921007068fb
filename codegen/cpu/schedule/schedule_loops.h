// Schedules of loops and row kernels on CPUs.
#ifndef TAILOR_CODEGEN_CPU_SCHEDULE_SCHEDULE_LOOPS_H_
#define TAILOR_CODEGEN_CPU_SCHEDULE_SCHEDULE_LOOPS_H_

#include "codegen/plan/kernel_plan.h"
#include "codegen/plan/schedule.h"
#include "fusion/target_traits.h"

namespace tailor::cpu {

// With `whole_rows_only` a task is one row, in the order of the plan's parallel axes: lanes run within it.
Schedule ScheduleLoops(const KernelPlan& plan, const TargetTraits& traits, bool whole_rows_only = false);

}  // namespace tailor::cpu

#endif  // TAILOR_CODEGEN_CPU_SCHEDULE_SCHEDULE_LOOPS_H_
