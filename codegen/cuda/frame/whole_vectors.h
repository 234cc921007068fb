// Whether a thread may access its vectors of lanes with one instruction each.
#ifndef TAILOR_CODEGEN_CUDA_FRAME_WHOLE_VECTORS_H_
#define TAILOR_CODEGEN_CUDA_FRAME_WHOLE_VECTORS_H_

#include "codegen/cuda/schedule/cuda_schedule.h"
#include "codegen/plan/kernel_plan.h"
#include "codegen/scalar/scalar_emitter.h"
#include "llvm/IR/IRBuilder.h"

namespace tailor::cuda {

// Emits an i1, uniform over all threads: whether all vectors of lanes are whole (LiesInRuns) and aligned to their size,
// or to 16 bytes if they are larger. Requires version.lanes > 1.
llvm::Value* EmitAreVectorsWhole(llvm::IRBuilderBase& b, const KernelPlan& plan, const CudaVersion& version,
                                 const KernelFrame& frame);

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_FRAME_WHOLE_VECTORS_H_
