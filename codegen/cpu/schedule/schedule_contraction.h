// Schedules of matmuls on CPUs.
#ifndef TAILOR_CODEGEN_CPU_SCHEDULE_SCHEDULE_CONTRACTION_H_
#define TAILOR_CODEGEN_CPU_SCHEDULE_SCHEDULE_CONTRACTION_H_

#include "codegen/plan/kernel_plan.h"
#include "codegen/plan/schedule.h"
#include "fusion/target_traits.h"

namespace tailor::cpu {

// Requires plan.IsContraction(). `in_chain`: the matmul is a link, and must divide rows as the other links do.
Schedule ScheduleContraction(const KernelPlan& plan, const TargetTraits& traits, bool in_chain = false);

}  // namespace tailor::cpu

#endif  // TAILOR_CODEGEN_CPU_SCHEDULE_SCHEDULE_CONTRACTION_H_
