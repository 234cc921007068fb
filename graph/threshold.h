// Builder of the k largest elements, by their threshold: the k-th largest element, one bit per iteration of a `while`.
#ifndef TAILOR_GRAPH_THRESHOLD_H_
#define TAILOR_GRAPH_THRESHOLD_H_

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace tailor {

// The indices of the first k elements in the order of graph/sorting.h along the last axis of x [..., N], any dtype:
// [..., k] of type IndexType(N), in no particular order. Every run checks k <= N. About one sweep over x per bit of its
// elements.
absl::StatusOr<Value> SelectByThreshold(Graph& graph, Value x, const DimExpr& k, bool largest);

}  // namespace tailor

#endif  // TAILOR_GRAPH_THRESHOLD_H_
