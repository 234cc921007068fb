// External gemms: matmuls that a matmul provider may compute in place of a kernel (DISC section 4.5). Their operands
// are in memory, with nothing fused into their reads. The matmul's epilogue then runs as separate loops.
#ifndef TAILOR_CODEGEN_LOWER_OFFERED_GEMM_H_
#define TAILOR_CODEGEN_LOWER_OFFERED_GEMM_H_

#include <optional>
#include <vector>

#include "codegen/lower/lowered_kernel.h"
#include "fusion/fusion_plan.h"

namespace tailor::lower {

// out[b, m, n] = sum over k of lhs[b, m, k] * rhs[b, k, n], as host::ExternalGemm. Strides: batch, row, column, in
// elements.
struct OfferedGemm {
  LoweredKernel::Operand lhs, rhs, out;  // rhs is row-major, or a constant in panels
  DimExpr batch, m, n, k;
  DimExpr lhs_strides[3], rhs_strides[3];
};

// The external gemm of a kContraction group that was lowered to `kernels`. nullopt if an operand is computed or
// gathered during the read, if batch dims are broadcast, or for dtypes other than f32, bf16 and, with `takes_f16`, f16.
// Batch dims that share the rhs become rows.
std::optional<OfferedGemm> OfferGemm(const Graph& graph, const ShapeFacts& facts, const FusionGroup& group,
                                     const std::vector<LoweredKernel>& kernels, bool takes_f16);

// The computations after the group's matmul: a kLoop group for each output except the matmul itself.
std::vector<FusionGroup> GroupsAfterGemm(const Graph& graph, const FusionGroup& group);

}  // namespace tailor::lower

#endif  // TAILOR_CODEGEN_LOWER_OFFERED_GEMM_H_
