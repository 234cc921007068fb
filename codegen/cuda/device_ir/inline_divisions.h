// Divisions without calls, for kernels whose warpgroups multiply (wgmma). An assembler makes some instructions calls of
// functions of its own: divisions of integers of other than 32 bits, and divisions and roots of floats, for operands
// that are rare. One that compiles for a later link (nvJitLink does) cannot know what such a function leaves as it is,
// and has matmuls wait for one another.
#ifndef TAILOR_CODEGEN_CUDA_DEVICE_IR_INLINE_DIVISIONS_H_
#define TAILOR_CODEGEN_CUDA_DEVICE_IR_INLINE_DIVISIONS_H_

#include "llvm/IR/Module.h"

namespace tailor::cuda {

// Rewrites them in functions that call tailor.device.wgmma_*. Results are the same bits: quotients and roots of floats
// are computed in double to within 2^-50, and neither comes so near to the middle between two floats.
void InlineDivisions(llvm::Module& module);

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_DEVICE_IR_INLINE_DIVISIONS_H_
