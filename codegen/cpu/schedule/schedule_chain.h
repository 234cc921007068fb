// Schedules of chains on CPUs.
#ifndef TAILOR_CODEGEN_CPU_SCHEDULE_SCHEDULE_CHAIN_H_
#define TAILOR_CODEGEN_CPU_SCHEDULE_SCHEDULE_CHAIN_H_

#include "codegen/plan/kernel_plan.h"
#include "codegen/plan/schedule.h"
#include "fusion/target_traits.h"

namespace tailor::cpu {

// Requires plan.IsChain().
Schedule ScheduleChain(const KernelPlan& plan, const TargetTraits& traits);

}  // namespace tailor::cpu

#endif  // TAILOR_CODEGEN_CPU_SCHEDULE_SCHEDULE_CHAIN_H_
