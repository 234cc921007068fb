// Builders whose results have as many rows as data says: positions by a scan over what is kept, a scatter to them, and
// a fresh symbol bound to their number. The symbol is called after the builder ("compact0", "compact1", ...).
#ifndef TAILOR_GRAPH_COMPACTION_H_
#define TAILOR_GRAPH_COMPACTION_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace tailor {

// The rows of x [N, ...] that mask bool[N] keeps, in their order: [M, ...], M fresh and at most N.
absl::StatusOr<Value> Compact(Graph& graph, Value x, Value mask);

// The indices of the elements that are not 0 (NaN is not), in row-major order: i64[rank, M], M fresh.
absl::StatusOr<Value> NonZero(Graph& graph, Value x);

// Elements, or along an axis slices, without repeats. Elements are equal as sorting.h says: NaN equals NaN.
struct Distinct {
  Value values;   // [U], or x's shape with U in place of the axis; U fresh
  Value indices;  // i64[U]: where each occurs first
  Value inverse;  // i64[N]: the number among `values` of each of the N elements (slices) of x
  Value counts;   // i64[U]: how many there are of each
};
// Without an axis x is taken as the vector of its elements. Values are in ascending order (slices compared element by
// element) if `sorted`, else in the order of their first occurrence.
absl::StatusOr<Distinct> Unique(Graph& graph, Value x, std::optional<int64_t> axis, bool sorted);

}  // namespace tailor

#endif  // TAILOR_GRAPH_COMPACTION_H_
