// Builders that sort along one axis: Batcher's merge exchange (Knuth, The Art of Computer Programming, algorithm
// 5.2.2M) as a `while`, whose body compares and exchanges all pairs of one pass. About log2(n)^2 / 2 passes over n
// elements; any n.
//
// The order is total: NaN is above all numbers and equal to itself, -0 equals 0, false is below true. The sort is
// stable, in descending order too: equal elements keep the order of their indices.
#ifndef TAILOR_GRAPH_SORTING_H_
#define TAILOR_GRAPH_SORTING_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace tailor {

// The elements along an axis in sorted order, and their original indices along it: i64.
struct Sorted {
  Value values, indices;
};

// x [..., N, ...], any dtype -> values and indices of its shape.
absl::StatusOr<Sorted> Sort(Graph& graph, Value x, int64_t axis, bool descending);

// The first k elements in descending order, or in ascending order without `largest`: [..., k, ...]. Every run checks
// k <= N. A small constant k uses selection (graph/selection.h); another k < N a threshold (graph/threshold.h).
absl::StatusOr<Sorted> TopK(Graph& graph, Value x, const DimExpr& k, int64_t axis, bool largest);

// The indices that sort the rows of x [N, M] lexicographically, ascending: i64[N].
absl::StatusOr<Value> ArgsortRows(Graph& graph, Value x);

}  // namespace tailor

#endif  // TAILOR_GRAPH_SORTING_H_
