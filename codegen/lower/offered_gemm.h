// Matmuls that a library could compute in a kernel's place (DISC section 4.5): operands that are in memory as they
// are, nothing fused into reading them. What follows the matmul in its kernel then runs as loops of its own.
#ifndef TAILOR_CODEGEN_LOWER_OFFERED_GEMM_H_
#define TAILOR_CODEGEN_LOWER_OFFERED_GEMM_H_

#include <optional>
#include <vector>

#include "codegen/lower/lowered_kernel.h"
#include "fusion/fusion_plan.h"

namespace tailor::lower {

// out[b, m, n] = sum over k of lhs[b, m, k] * rhs[b, k, n], as HostProgram's Matmul.
struct OfferedGemm {
  LoweredKernel::Operand lhs, rhs, out;  // rhs is row-major, or a constant in panels
  DimExpr batch, m, n, k;
  DimExpr lhs_strides[3], rhs_strides[3];
};

// The product of a kContraction group lowered to `kernels`; none where an operand is computed or gathered as the kernel
// reads it, where batch dims are broadcast, or for types other than f32, bf16 and, where `takes_f16`, f16. A batch that
// shares its rhs becomes rows.
std::optional<OfferedGemm> OfferGemm(const Graph& graph, const ShapeFacts& facts, const FusionGroup& group,
                                     const std::vector<LoweredKernel>& kernels, bool takes_f16);

// What the group computes from its matmul: a kLoop group for each output but the matmul itself.
std::vector<FusionGroup> GroupsAfterGemm(const Graph& graph, const FusionGroup& group);

}  // namespace tailor::lower

#endif  // TAILOR_CODEGEN_LOWER_OFFERED_GEMM_H_
