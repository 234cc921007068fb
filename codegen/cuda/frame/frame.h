// The prologue of a GPU kernel: parameters instead of an argument block, memory in its address spaces.
#ifndef TAILOR_CODEGEN_CUDA_FRAME_FRAME_H_
#define TAILOR_CODEGEN_CUDA_FRAME_FRAME_H_

#include "codegen/cuda/schedule/cuda_schedule.h"
#include "codegen/scalar/scalar_emitter.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace tailor::cuda {

struct CudaFrame : KernelFrame {
  // In cooperative versions `scratch` is the launch's.
  llvm::Value* row_bytes = nullptr;  // i64: of all row buffers of one row
};

// Declares kernel `name` of `plan`, opens its entry block and leaves `b` at the end of it. Row buffers lie after the
// version's partial results in shared memory, one row's after another's, or in the block's part of the global scratch.
// In cooperative launches the frame has those of row 0, at the beginning of the launch's scratch; other rows follow.
CudaFrame OpenCudaKernel(llvm::IRBuilderBase& b, llvm::Module& module, const KernelPlan& plan,
                         const CudaVersion& version, llvm::StringRef name);

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_FRAME_FRAME_H_
