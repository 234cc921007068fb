// Synchronisation that NVPTX has and LLVM IR has no instruction for.
#ifndef TAILOR_CODEGEN_CUDA_DEVICE_IR_NVPTX_SYNC_H_
#define TAILOR_CODEGEN_CUDA_DEVICE_IR_NVPTX_SYNC_H_

#include "llvm/IR/Function.h"
#include "llvm/IR/Module.h"

namespace tailor::cuda {

// The function `void (ptr addrspace(1) counter)`, a barrier of the whole grid; all blocks must be resident (a
// cooperative launch). Thread 0 of each block adds to the 4-byte word at `counter`; block 0 adds so much that the
// highest bit flips once all blocks have arrived. The lower bits are then 0 again, as they must be initially. A block
// proceeds when it sees the bit flip (AStitch section 4.5). Memory is ordered as by a barrier of the block.
llvm::Function* GridBarrier(llvm::Module& module);

// Makes each compare-and-swap (of i64s) atomic for the whole system, hosts included; LLVM's is atomic within one GPU.
void WidenExchanges(llvm::Module& module);

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_DEVICE_IR_NVPTX_SYNC_H_
