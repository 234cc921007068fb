// Rewrite: matmuls that a tile of 16 columns does not suit become elementwise ops and reductions.
#ifndef TAILOR_FUSION_NARROW_MATMULS_H_
#define TAILOR_FUSION_NARROW_MATMULS_H_

#include "absl/status/statusor.h"
#include "analysis/shape_facts.h"
#include "graph/graph.h"

namespace tailor {

// - A matrix times a vector: x[M, K] w[K, 1], K a constant of 16 to 8192, becomes reduce_sum(x * w) along K: each
//   element of x is used once. Longer K would be summed in a number of parts that depends on M.
// - An outer product: K a constant of 1 to 8, becomes the sum of K products of a column of x and a row of w: there are
//   more stores than arithmetic. Not with a constant N below 16, which lanes along N do not suit.
// The order of a sum depends on N and K alone. f16 and bf16 compute in f32, as matmuls do.
absl::StatusOr<Graph> NarrowMatmuls(const Graph& graph, const ShapeFacts& facts);

// Whether node `id` is such an outer product.
bool IsOuterProduct(const Graph& graph, NodeId id);

}  // namespace tailor

#endif  // TAILOR_FUSION_NARROW_MATMULS_H_
