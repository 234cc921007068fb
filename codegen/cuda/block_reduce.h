// Reductions across the threads of a block.
#ifndef TAILOR_CODEGEN_CUDA_BLOCK_REDUCE_H_
#define TAILOR_CODEGEN_CUDA_BLOCK_REDUCE_H_

#include <vector>

#include "codegen/scalar_ops.h"
#include "llvm/IR/IRBuilder.h"

namespace tailor {

struct PartialResult {
  OpKind combiner;
  DType dtype;
  llvm::Value* value;  // this thread's part, register form
};

// Combines each partial over all threads of the block and leaves the same result in every thread: lanes of a
// warp by xor-shuffles, warps through shared memory in warp order, so that results do not depend on timing.
// Every thread must arrive. Shared memory from its start, 8 bytes a warp and partial, is free again on return.
std::vector<llvm::Value*> EmitBlockReduce(llvm::IRBuilderBase& b, const EmitTarget& target, int threads,
                                          const std::vector<PartialResult>& partials);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_CUDA_BLOCK_REDUCE_H_
