// Schedules of matmuls on GPUs: the block tiles, and the conditions of each.
#ifndef TAILOR_CODEGEN_CUDA_SCHEDULE_SCHEDULE_MATMUL_H_
#define TAILOR_CODEGEN_CUDA_SCHEDULE_SCHEDULE_MATMUL_H_

#include "absl/status/statusor.h"
#include "codegen/cuda/schedule/cuda_schedule.h"
#include "codegen/plan/kernel_plan.h"
#include "fusion/target_traits.h"

namespace tailor::cuda {

// Versions of shape kMatmulTile, from the family of tiles that fit the machine (the hard constraints of TSCompiler
// section 5.1: registers, shared memory, whole warps). Requires plan.IsContraction().
absl::StatusOr<CudaSchedule> ScheduleCudaMatmul(const KernelPlan& plan, const TargetTraits& traits);

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_SCHEDULE_SCHEDULE_MATMUL_H_
