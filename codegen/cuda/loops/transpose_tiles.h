// Transpositions on GPUs: tiles pass through shared memory, so that warps read and write whole cache lines.
#ifndef TAILOR_CODEGEN_CUDA_LOOPS_TRANSPOSE_TILES_H_
#define TAILOR_CODEGEN_CUDA_LOOPS_TRANSPOSE_TILES_H_

#include <string>

#include "codegen/cuda/schedule/cuda_schedule.h"
#include "llvm/IR/Module.h"

namespace tailor::cuda {

// Adds kernel `name` for a version of shape kTransposed.
void EmitTransposition(const KernelPlan& plan, const CudaVersion& version, llvm::Module& module,
                       const std::string& name);

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_LOOPS_TRANSPOSE_TILES_H_
