// Rewrite: a matmul with a long K and a small result becomes one for each part of K, and their sum (split-K).
#ifndef TAILOR_FUSION_SPLIT_LONG_MATMULS_H_
#define TAILOR_FUSION_SPLIT_LONG_MATMULS_H_

#include "absl/status/statusor.h"
#include "analysis/shape_facts.h"
#include "graph/graph.h"

namespace tailor {

// x[M, K] w[K, N] with K fixed, long, and with a divisor that gives parts of some thousands, and N fixed and so small
// that blocks of columns are no work for several threads, becomes reduce_sum(x[P, M, K/P] w[P, K/P, N]) over P, in f32
// and f64. The parts are tasks of their own; what they add to memory traffic is two N in K/P. Sums are in another order
// than those of the whole K, and nearer to the exact ones; the order depends on K alone. w[N, K] stays whole: no
// packing reads the parts of its rows.
absl::StatusOr<Graph> SplitLongMatmuls(const Graph& graph, const ShapeFacts& facts);

}  // namespace tailor

#endif  // TAILOR_FUSION_SPLIT_LONG_MATMULS_H_
