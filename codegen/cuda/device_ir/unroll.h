// What the optimizer is told of loops.
#ifndef TAILOR_CODEGEN_CUDA_DEVICE_IR_UNROLL_H_
#define TAILOR_CODEGEN_CUDA_DEVICE_IR_UNROLL_H_

#include "llvm/IR/BasicBlock.h"

namespace tailor::cuda {

// Asks for `count` bodies in a turn of the loop that `latch`'s branch closes, no more and no fewer: so many have their
// loads under way together, and registers and code do not grow with what the loop's dim size happens to be.
void SetUnroll(llvm::BasicBlock* latch, int count);

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_DEVICE_IR_UNROLL_H_
