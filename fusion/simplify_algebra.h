// Rewrite: removes operations that provably return an operand exactly: x*1, x/1, x-0, integer x+0, x**1.
#ifndef TAILOR_FUSION_SIMPLIFY_ALGEBRA_H_
#define TAILOR_FUSION_SIMPLIFY_ALGEBRA_H_

#include "absl/status/statusor.h"
#include "analysis/shape_facts.h"
#include "graph/graph.h"

namespace tailor {

// Preserves: values bit for bit (NaN payloads apart; x**2 becomes x*x, which rounds correctly) and types.
absl::StatusOr<Graph> SimplifyAlgebra(const Graph& graph, const ShapeFacts& facts);

}  // namespace tailor

#endif  // TAILOR_FUSION_SIMPLIFY_ALGEBRA_H_
