// The schedule of a product on a GPU: which block tiles, and when each.
#ifndef TAILOR_CODEGEN_CUDA_SCHEDULE_SCHEDULE_PRODUCT_H_
#define TAILOR_CODEGEN_CUDA_SCHEDULE_SCHEDULE_PRODUCT_H_

#include "absl/status/statusor.h"
#include "codegen/cuda/schedule/cuda_schedule.h"
#include "codegen/plan/kernel_plan.h"
#include "fusion/target_traits.h"

namespace tailor::cuda {

// Versions of shape kProductTile, from the family of tiles that fit the machine (the hard constraints of TSCompiler
// section 5.1: registers, shared memory, whole warps). Requires plan.IsContraction().
absl::StatusOr<CudaSchedule> ScheduleCudaProduct(const KernelPlan& plan, const TargetTraits& traits);

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_SCHEDULE_SCHEDULE_PRODUCT_H_
