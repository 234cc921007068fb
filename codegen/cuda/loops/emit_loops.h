// Emits loop and row kernels for GPUs, from the same plans as codegen/cpu/loops.
#ifndef TAILOR_CODEGEN_CUDA_LOOPS_EMIT_LOOPS_H_
#define TAILOR_CODEGEN_CUDA_LOOPS_EMIT_LOOPS_H_

#include <string>

#include "absl/status/status.h"
#include "codegen/cuda/schedule/cuda_schedule.h"
#include "codegen/plan/kernel_plan.h"
#include "llvm/IR/Module.h"

namespace tailor::cuda {

// Adds one `ptx_kernel void @<name>_v<i>` per version of `schedule` to `module`, in terms of the device intrinsics. Its
// parameters are the slots of the plan's argument block (scalar_emitter.h), 8 bytes each, in the same order. Scratch,
// as base and bytes per block, is read only if rows are not in shared memory. UNIMPLEMENTED for a contraction.
absl::Status EmitCudaLoops(const KernelPlan& plan, const CudaSchedule& schedule, const std::string& name,
                           llvm::Module& module);

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_LOOPS_EMIT_LOOPS_H_
