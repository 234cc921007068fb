// Rewrite: matmuls whose rhs repeats matrices along the batch read each matrix where it is (grouped-query attention:
// one head of keys and values serves several heads of queries).
#ifndef TAILOR_FUSION_GROUP_QUERIES_H_
#define TAILOR_FUSION_GROUP_QUERIES_H_

#include "absl/status/statusor.h"
#include "analysis/shape_facts.h"
#include "graph/graph.h"

namespace tailor {

// A rhs [B, 9, K, N] that is the reshape of a broadcast [B, 3, 1, K, N] -> [B, 3, 3, K, N] is no view that a matmul can
// read. The matmul gets the broadcast's batch dims, [B, 3, 3], in which its rhs has size 1; its lhs and result are
// reshaped. What follows elementwise or in rows, up to the next such matmul, is computed with these dims too, so that
// both matmuls of attention and its softmax still form a chain.
//
// Preserves: values bit for bit, types and names.
absl::StatusOr<Graph> GroupQueries(const Graph& graph, const ShapeFacts& facts);

}  // namespace tailor

#endif  // TAILOR_FUSION_GROUP_QUERIES_H_
