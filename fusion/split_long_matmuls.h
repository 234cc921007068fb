// Rewrite: split-K of a matmul with a long K and a small result: one matmul per part of K, then their sum.
#ifndef TAILOR_FUSION_SPLIT_LONG_MATMULS_H_
#define TAILOR_FUSION_SPLIT_LONG_MATMULS_H_

#include "absl/status/statusor.h"
#include "analysis/shape_facts.h"
#include "graph/graph.h"

namespace tailor {

// x[M, K] w[K, N] becomes reduce_sum(x[P, M, K/P] w[P, K/P, N]) over P, in f32 and f64. Conditions: K and N are
// constants; K >= 8192 has a divisor with parts of 1024 to 4096; N <= 256, too few columns to give several threads
// work. The parts are independent tasks. Added memory traffic per row: P * N partial sums are written and read again.
// The order of the sums depends only on K; it differs from the unsplit order and has smaller rounding errors. A
// transposed rhs, w[N, K], is not split: rhs packing cannot read a part of a row.
absl::StatusOr<Graph> SplitLongMatmuls(const Graph& graph, const ShapeFacts& facts);

}  // namespace tailor

#endif  // TAILOR_FUSION_SPLIT_LONG_MATMULS_H_
