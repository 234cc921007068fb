// Emits attention plans (codegen/plan/attention.h) for GPUs, sm_80 and later: scores, softmax and the second matmul in
// one pass over the keys (attention_kernel.h).
#ifndef TAILOR_CODEGEN_CUDA_ATTENTION_EMIT_ATTENTION_H_
#define TAILOR_CODEGEN_CUDA_ATTENTION_EMIT_ATTENTION_H_

#include <string>

#include "codegen/cuda/schedule/cuda_schedule.h"
#include "llvm/IR/Module.h"

namespace tailor::cuda {

// Adds one `ptx_kernel void @<name>_v<i>` per version of `schedule` (ScheduleCudaAttention's) to `module`, in terms of
// the device intrinsics. Parameters are the slots of the plan's argument block.
void EmitCudaAttention(const KernelPlan& plan, const CudaSchedule& schedule, const std::string& name,
                       llvm::Module& module);

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_ATTENTION_EMIT_ATTENTION_H_
