// Reductions across the threads of a block.
#ifndef TAILOR_CODEGEN_CUDA_LOOPS_BLOCK_REDUCE_H_
#define TAILOR_CODEGEN_CUDA_LOOPS_BLOCK_REDUCE_H_

#include <vector>

#include "codegen/scalar/scalar_ops.h"
#include "llvm/IR/IRBuilder.h"

namespace tailor::cuda {

struct PartialResult {
  OpKind combiner;
  DType dtype;
  llvm::Value* value;  // this thread's part, register form
};

// Combines two results of a reduction, scalars or lanes. Maximum and minimum of f32 are one instruction (max.NaN,
// min.NaN), which propagates NaN and orders -0 below 0.
llvm::Value* EmitCombined(llvm::IRBuilderBase& b, const EmitTarget& target, OpKind combiner, DType dtype,
                          llvm::Value* lhs, llvm::Value* rhs);

// Combines each partial over the `row_threads` threads of a row, and leaves the same result in each of them. Within a
// warp: by xor-shuffles. Across warps, if a row is a block: through shared memory, in the order of warps, so that
// results do not depend on timing. All threads of the block must arrive. Uses 8 bytes of shared memory, from its start,
// per warp of a row and partial; they are free again on return.
std::vector<llvm::Value*> EmitRowReduce(llvm::IRBuilderBase& b, const EmitTarget& target, int row_threads,
                                        const std::vector<PartialResult>& partials);

// Likewise over the threads with the same lane in each of the block's warps. Uses 8 bytes per thread and partial.
std::vector<llvm::Value*> EmitColumnReduce(llvm::IRBuilderBase& b, const EmitTarget& target, int threads,
                                           const std::vector<PartialResult>& partials);

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_LOOPS_BLOCK_REDUCE_H_
