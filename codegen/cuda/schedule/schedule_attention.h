// How attention plans run on a GPU.
#ifndef TAILOR_CODEGEN_CUDA_SCHEDULE_SCHEDULE_ATTENTION_H_
#define TAILOR_CODEGEN_CUDA_SCHEDULE_SCHEDULE_ATTENTION_H_

#include "codegen/cuda/schedule/cuda_schedule.h"

namespace tailor::cuda {

// Requires plan.IsAttention() and factors with rows of at most TargetTraits::joined_dim_size elements. A
// version for a few rows, whose warps share the keys, and one for many.
CudaSchedule ScheduleCudaAttention(const KernelPlan& plan, const TargetTraits& traits);

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_SCHEDULE_SCHEDULE_ATTENTION_H_
