// Schedules of matmuls on CPUs.
#ifndef TAILOR_CODEGEN_CPU_SCHEDULE_SCHEDULE_CONTRACTION_H_
#define TAILOR_CODEGEN_CPU_SCHEDULE_SCHEDULE_CONTRACTION_H_

#include "codegen/contract/cost_profile.h"
#include "codegen/plan/kernel_plan.h"
#include "codegen/plan/schedule.h"
#include "fusion/target_traits.h"

namespace tailor::cpu {

// Requires plan.IsContraction(). `in_chain`: the matmul is a link, and must divide rows as the other links do. `costs`:
// the profile of the machine to compile for, by which tilings are kept to choose among; null: the built-in profiles.
Schedule ScheduleContraction(const KernelPlan& plan, const TargetTraits& traits, bool in_chain = false,
                             const CostProfile* costs = nullptr);

}  // namespace tailor::cpu

#endif  // TAILOR_CODEGEN_CPU_SCHEDULE_SCHEDULE_CONTRACTION_H_
