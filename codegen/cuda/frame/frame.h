// The prologue of a GPU kernel: parameters instead of an argument block, memory in its address spaces.
#ifndef TAILOR_CODEGEN_CUDA_FRAME_FRAME_H_
#define TAILOR_CODEGEN_CUDA_FRAME_FRAME_H_

#include "codegen/cuda/schedule/cuda_schedule.h"
#include "codegen/scalar/scalar_emitter.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace tailor::cuda {

struct CudaFrame : KernelFrame {
  // Of cooperative versions `scratch` is that of the launch.
  llvm::Value* row_bytes = nullptr;  // i64: of all row buffers of one row
};

// Declares kernel `name` of `plan`, opens its entry block and leaves `b` at the end of it. Row buffers lie
// behind the version's partials in shared memory, one row's behind another's, or in the block's part of the global
// scratch. In cooperative launches they are row 0's, at the beginning of the launch's scratch, and others lie behind.
CudaFrame OpenCudaKernel(llvm::IRBuilderBase& b, llvm::Module& module, const KernelPlan& plan,
                         const CudaVersion& version, llvm::StringRef name);

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_FRAME_FRAME_H_
