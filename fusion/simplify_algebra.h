// Rewrites of arithmetic: operations that provably return an operand exactly (x*1, x/1, x-0, integer x+0, x**1) are
// removed; pooling by large windows is separated into one pass per dim; scales of matmul operands are joined;
// tensors are not quantized twice.
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

// Q(DQ(q)) becomes q, for a tensor q of integers of 8 or 16 bits, where Q(x) = cast(round(x / s) + z) and DQ(q) =
// (q - z) * s have the same constant scale s and zero point z, of one element each: quantizers write such pairs around
// ops that move elements, which may be between the two. Preserves: values bit for bit, since |s| is from 2^-100 to
// 2^100 and |z| at most 2^16, so that round meets q - z; and types.
absl::StatusOr<Graph> QuantizeOnce(const Graph& graph, const ShapeFacts& facts);

}  // namespace tailor

#endif  // TAILOR_FUSION_SIMPLIFY_ALGEBRA_H_
