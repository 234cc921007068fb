// Emits matmul kernels for GPUs, from the same plans as codegen/cpu/gemm.
#ifndef TAILOR_CODEGEN_CUDA_GEMM_EMIT_MATMUL_H_
#define TAILOR_CODEGEN_CUDA_GEMM_EMIT_MATMUL_H_

#include <string>

#include "absl/status/status.h"
#include "codegen/cuda/schedule/cuda_schedule.h"
#include "codegen/plan/kernel_plan.h"
#include "llvm/IR/Module.h"

namespace tailor::cuda {

// Adds one `ptx_kernel void @<name>_v<i>` per version of `schedule` (ScheduleCudaMatmul's) to `module`, in terms of the
// device intrinsics. Parameters are the slots of the plan's argument block; the slot of a staging buffer's scratch is
// not read. Requires plan.IsContraction().
absl::Status EmitCudaMatmul(const KernelPlan& plan, const CudaSchedule& schedule, const std::string& name,
                            llvm::Module& module);

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_GEMM_EMIT_MATMUL_H_
