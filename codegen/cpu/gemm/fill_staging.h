// In IR: fills a box, the part of a tensor that a task of a matmul reads, with what the plan's stage for it computes.
#ifndef TAILOR_CODEGEN_CPU_GEMM_FILL_STAGING_H_
#define TAILOR_CODEGEN_CPU_GEMM_FILL_STAGING_H_

#include <vector>

#include "codegen/plan/contraction.h"
#include "codegen/scalar/scalar_emitter.h"

namespace tailor::gemm {

// Indices along one dim, both included.
struct IndexRange {
  llvm::Value* low;
  llvm::Value* high;
};

struct StagingBuffer {
  llvm::Value* base;                  // the address of the element that `starts` names
  std::vector<llvm::Value*> starts;   // in the tensor, per dim
  std::vector<llvm::Value*> strides;  // in elements, per dim
};

// Requires contraction.fill >= 0, values of the axes that the fill does not set, and ranges that are not empty. Loops
// are in the order of the dims, and `lanes` of them run along the last: a tensor is read in runs of memory.
void EmitFillStaging(llvm::IRBuilderBase& b, const KernelPlan& plan, const Contraction& contraction,
                     const KernelFrame& frame, ScalarEmitter& scalars, int lanes, const std::vector<IndexRange>& ranges,
                     const StagingBuffer& staging);

}  // namespace tailor::gemm

#endif  // TAILOR_CODEGEN_CPU_GEMM_FILL_STAGING_H_
