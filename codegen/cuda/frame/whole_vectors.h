// Whether the vectors that a version's threads take may be accessed at once.
#ifndef TAILOR_CODEGEN_CUDA_FRAME_WHOLE_VECTORS_H_
#define TAILOR_CODEGEN_CUDA_FRAME_WHOLE_VECTORS_H_

#include "codegen/cuda/schedule/cuda_schedule.h"
#include "codegen/plan/kernel_plan.h"
#include "codegen/scalar/scalar_emitter.h"
#include "llvm/IR/IRBuilder.h"

namespace tailor::cuda {

// Emits an i1, the same in all threads: whether all vectors of lanes are whole (LiesInRuns) and lie at multiples of
// their bytes, or of 16 where they are larger. Requires version.lanes > 1.
llvm::Value* EmitAreVectorsWhole(llvm::IRBuilderBase& b, const KernelPlan& plan, const CudaVersion& version,
                                 const KernelFrame& frame);

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_FRAME_WHOLE_VECTORS_H_
