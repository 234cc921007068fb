// Divisions without calls, for kernels that use wgmma. Assemblers turn some instructions into calls of internal
// functions: integer divisions of other than 32 bits, and divisions and roots of floats, for rare operands. An
// assembler that compiles for a later link (as nvJitLink does) does not know which registers such a function preserves,
// and serialises the wgmmas.
#ifndef TAILOR_CODEGEN_CUDA_DEVICE_IR_INLINE_DIVISIONS_H_
#define TAILOR_CODEGEN_CUDA_DEVICE_IR_INLINE_DIVISIONS_H_

#include "llvm/IR/Module.h"

namespace tailor::cuda {

// Rewrites them in functions that call tailor.device.wgmma_*. Results are bit-identical: quotients and roots of floats
// are computed in double to within 2^-50, and neither comes that close to the midpoint between two floats.
void InlineDivisions(llvm::Module& module);

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_DEVICE_IR_INLINE_DIVISIONS_H_
