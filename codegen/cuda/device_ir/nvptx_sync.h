// Synchronisation that NVPTX has and LLVM has no instruction for.
#ifndef TAILOR_CODEGEN_CUDA_DEVICE_IR_NVPTX_SYNC_H_
#define TAILOR_CODEGEN_CUDA_DEVICE_IR_NVPTX_SYNC_H_

#include "llvm/IR/Function.h"
#include "llvm/IR/Module.h"

namespace tailor::cuda {

// The function `void (ptr addrspace(1) counter)` that is a barrier of the whole grid, all of whose blocks must be
// resident (a cooperative launch). Thread 0 of each block counts at `counter`, a 4-byte word, block 0 so much that its
// highest bit flips when all have come, and its lower ones are 0 then, as they must be at first: whoever sees the bit
// flip goes on (AStitch section 4.5). Memory is ordered as by a barrier of the block.
llvm::Function* GridBarrier(llvm::Module& module);

// Makes each compare-and-swap atomic for the whole system, hosts included: LLVM's is so within one GPU. What they
// exchange are i64s.
void WidenExchanges(llvm::Module& module);

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_DEVICE_IR_NVPTX_SYNC_H_
