// Schedules of attention plans on GPUs.
#ifndef TAILOR_CODEGEN_CUDA_SCHEDULE_SCHEDULE_ATTENTION_H_
#define TAILOR_CODEGEN_CUDA_SCHEDULE_SCHEDULE_ATTENTION_H_

#include "codegen/cuda/schedule/cuda_schedule.h"

namespace tailor::cuda {

// Requires plan.IsAttention() and factors with rows of at most TargetTraits::max_attention_row elements. One version is
// for few rows, and its warps split the keys; the other is for many rows.
CudaSchedule ScheduleCudaAttention(const KernelPlan& plan, const TargetTraits& traits);

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_SCHEDULE_SCHEDULE_ATTENTION_H_
