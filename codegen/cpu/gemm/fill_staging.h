// Emits IR that fills a staging buffer: the part of a tensor that one matmul task reads, computed by the plan's fill
// stage.
#ifndef TAILOR_CODEGEN_CPU_GEMM_FILL_STAGING_H_
#define TAILOR_CODEGEN_CPU_GEMM_FILL_STAGING_H_

#include <vector>

#include "codegen/plan/contraction.h"
#include "codegen/scalar/scalar_emitter.h"

namespace tailor::gemm {

// Range of indices along one dim, both ends included.
struct IndexRange {
  llvm::Value* low;
  llvm::Value* high;
};

struct StagingBuffer {
  llvm::Value* base;                  // address of the element with index `starts`
  std::vector<llvm::Value*> starts;   // per dim: first index, in the tensor
  std::vector<llvm::Value*> strides;  // per dim, in elements
  // Where lines hold their even columns, then their odd ones (SplitsColumns, codegen/cpu/gemm/row_runs.h): the elements
  // between column 0 and column 1. Else null.
  llvm::Value* odd_columns = nullptr;
};

// Requires contraction.fill >= 0, non-empty ranges, and values of all axes that the fill does not set. Loops follow the
// order of the dims, but for the last two: columns of one or two vectors of `lanes` elements, from the last column to
// the first, run down the rows, so that the masks of a column are computed once. Up to `lanes` - 1 elements past the
// last one are overwritten.
void EmitFillStaging(llvm::IRBuilderBase& b, const KernelPlan& plan, const Contraction& contraction,
                     const KernelFrame& frame, ScalarEmitter& scalars, int lanes, const std::vector<IndexRange>& ranges,
                     const StagingBuffer& staging);

}  // namespace tailor::gemm

#endif  // TAILOR_CODEGEN_CPU_GEMM_FILL_STAGING_H_
