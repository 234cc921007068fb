// GPU emission: whichever the plan is, as codegen/cpu/emit_cpu.h does for CPUs.
#ifndef TAILOR_CODEGEN_CUDA_EMIT_CUDA_H_
#define TAILOR_CODEGEN_CUDA_EMIT_CUDA_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "codegen/cuda/schedule/cuda_schedule.h"
#include "codegen/plan/kernel_plan.h"
#include "fusion/target_traits.h"
#include "llvm/IR/Module.h"

namespace tailor::cuda {

// UNIMPLEMENTED for a chain (where TargetTraits::joined_dim_size is set, chains become one plan or none), and where a
// block has less shared memory than the reductions take.
absl::StatusOr<CudaSchedule> ScheduleOnCuda(const KernelPlan& plan, const TargetTraits& traits);

// Adds one `ptx_kernel void @<name>_v<i>` per version of `schedule`, which is the plan's own, to `module`. Kernels are
// in terms of the device intrinsics (device_intrinsics.h); their parameters are the slots of the plan's argument block,
// then the version's tensor maps. UNIMPLEMENTED where they take more than kMostParameterBytes.
absl::Status EmitOnCuda(const KernelPlan& plan, const CudaSchedule& schedule, const std::string& name,
                        llvm::Module& module);

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_EMIT_CUDA_H_
