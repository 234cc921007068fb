// Schedules of 3 x 3 convolutions by Winograd's F(2x2, 3x3) on CPUs (codegen/cpu/conv/winograd.h).
#ifndef TAILOR_CODEGEN_CPU_SCHEDULE_SCHEDULE_WINOGRAD_H_
#define TAILOR_CODEGEN_CPU_SCHEDULE_SCHEDULE_WINOGRAD_H_

#include "codegen/plan/contraction.h"
#include "codegen/plan/kernel_plan.h"
#include "codegen/plan/schedule.h"
#include "fusion/target_traits.h"

namespace tailor::cpu {

// Requires IsWinograd.
Schedule ScheduleWinograd(const KernelPlan& plan, const Contraction& contraction, const TargetTraits& traits);

}  // namespace tailor::cpu

#endif  // TAILOR_CODEGEN_CPU_SCHEDULE_SCHEDULE_WINOGRAD_H_
