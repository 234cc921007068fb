// Rewrites of arithmetic: operations that provably return an operand exactly (x*1, x/1, x-0, integer x+0, x**1) are
// removed; max pooling by large windows is separated into one pass per dim; scales of matmul operands are joined.
#ifndef TAILOR_FUSION_SIMPLIFY_ALGEBRA_H_
#define TAILOR_FUSION_SIMPLIFY_ALGEBRA_H_

#include "absl/status/statusor.h"
#include "analysis/shape_facts.h"
#include "graph/graph.h"

namespace tailor {

// Preserves: values bit for bit (NaN payloads apart; x**2 becomes x*x, which rounds correctly) and types.
absl::StatusOr<Graph> SimplifyAlgebra(const Graph& graph, const ShapeFacts& facts);

// (x*a) . (y*b) becomes ((x*a)*b) . y, for constants a and b and a y*b that nothing else reads: exporters scale both
// operands of attention's scores, and the rhs may be a long cache. Both multiplications of the lhs are one loop. Not
// for f16, whose range is small, and for |b| in [2^-20, 1] only: nothing overflows, and what underflows is below
// 2^-106. Preserves: types; values within the matmul's rounding.
absl::StatusOr<Graph> ScaleOneOperand(const Graph& graph, const ShapeFacts& facts);

}  // namespace tailor

#endif  // TAILOR_FUSION_SIMPLIFY_ALGEBRA_H_
