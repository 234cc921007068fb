// Builders that sort along one axis: Batcher's merge exchange (Knuth, The Art of Computer Programming, algorithm
// 5.2.2M) in a `while`, whose body compares and exchanges all pairs of one pass at once. About log2(n)^2 / 2 passes
// over n elements; any n.
//
// The order is total: NaN is above all numbers and equal to itself, -0 equals 0, false is below true; elements that are
// equal stay in the order of their indices, also where the order is descending.
#ifndef TAILOR_GRAPH_SORTING_H_
#define TAILOR_GRAPH_SORTING_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace tailor {

// The elements along an axis in order, and the index along it that each had: i64.
struct Sorted {
  Value values, indices;
};

// x [..., N, ...], of any type -> two of its shape.
absl::StatusOr<Sorted> Sort(Graph& graph, Value x, int64_t axis, bool descending);

// The first k of them in descending order, or ascending where not `largest`: [..., k, ...]. A run checks k <= N. A few
// are selected one by one (graph/selection.h).
absl::StatusOr<Sorted> TopK(Graph& graph, Value x, const DimExpr& k, int64_t axis, bool largest);

// The order of the rows of x [N, M], which are compared from the left, ascending: i64[N].
absl::StatusOr<Value> ArgsortRows(Graph& graph, Value x);

}  // namespace tailor

#endif  // TAILOR_GRAPH_SORTING_H_
