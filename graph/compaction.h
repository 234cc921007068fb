// Builders of ops whose result has a data-dependent number of rows. A scan over the mask gives the row positions, a
// scatter moves the rows there, and a fresh symbol is bound to their number. The symbol is named after the builder
// ("compact0", "compact1", ...).
#ifndef TAILOR_GRAPH_COMPACTION_H_
#define TAILOR_GRAPH_COMPACTION_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace tailor {

// A fresh symbol in [0, the largest value of `most`], where that is declared; its name begins with `prefix`.
absl::StatusOr<DimExpr> FreshDimSize(Graph& graph, absl::string_view prefix, const DimExpr& most);

// The rows of x [N, ...] where mask bool[N] is true, in order: [M, ...]; M is a fresh symbol, at most N.
absl::StatusOr<Value> Compact(Graph& graph, Value x, Value mask);

// Indices of the nonzero elements of x (NaN is nonzero), in row-major order: i64[rank, M]; M is a fresh symbol.
absl::StatusOr<Value> NonZero(Graph& graph, Value x);

// The distinct elements of x, or its distinct slices along an axis. Equality is that of sorting.h: NaN equals NaN.
struct Distinct {
  Value values;   // [U], or x's shape with U in place of the axis; U is a fresh symbol
  Value indices;  // i64[U]: index of the first occurrence
  Value inverse;  // i64[N]: index into `values` of each of the N elements (slices) of x
  Value counts;   // i64[U]: number of occurrences
};
// Without an axis, x is read as the vector of its elements. Values are in ascending order if `sorted` (slices compare
// lexicographically), else in order of first occurrence.
absl::StatusOr<Distinct> Unique(Graph& graph, Value x, std::optional<int64_t> axis, bool sorted);

}  // namespace tailor

#endif  // TAILOR_GRAPH_COMPACTION_H_
