// Unroll metadata of loops.
#ifndef TAILOR_CODEGEN_CUDA_DEVICE_IR_UNROLL_H_
#define TAILOR_CODEGEN_CUDA_DEVICE_IR_UNROLL_H_

#include "llvm/IR/BasicBlock.h"

namespace tailor::cuda {

// Requests an unroll count of exactly `count` for the loop that `latch`'s branch closes. So `count` bodies have their
// loads in flight together, and registers and code size do not depend on the loop's trip count.
void SetUnroll(llvm::BasicBlock* latch, int count);

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_DEVICE_IR_UNROLL_H_
