// Schedules and emits kernels of every kind on GPUs, as codegen/cpu/emit_cpu.h does on CPUs.
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

// UNIMPLEMENTED for a chain (with TargetTraits::max_attention_row set, chains become one plan or none), and if the
// reductions need more shared memory than a block has.
absl::StatusOr<CudaSchedule> ScheduleOnCuda(const KernelPlan& plan, const TargetTraits& traits);

// Adds one `ptx_kernel void @<name>_v<i>` per version of `schedule`, which must be the plan's, to `module`. Kernels
// call the device intrinsics (device_intrinsics.h). Their parameters are the slots of the plan's argument block, then
// the version's tensor maps. UNIMPLEMENTED if parameters exceed kMostParameterBytes.
absl::Status EmitOnCuda(const KernelPlan& plan, const CudaSchedule& schedule, const std::string& name,
                        llvm::Module& module);

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_EMIT_CUDA_H_
