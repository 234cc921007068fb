// The total order of elements that sorting builders use: NaN is above all numbers, and -0 equals 0; and the elements
// that indices name.
#ifndef TAILOR_GRAPH_ORDERING_H_
#define TAILOR_GRAPH_ORDERING_H_

#include <cstdint>
#include <limits>

#include "absl/status/statusor.h"
#include "graph/formula.h"

namespace tailor {

// a < b
inline Value AppendLess(Formula& f, const Graph& graph, Value a, Value b) {
  Value less = f.Apply(OpKind::kLt, {a, b});
  if (!f.ok() || !IsFloat(graph.type(a).dtype)) return less;
  Value number = f.Apply(OpKind::kEq, {a, a}), nan = f.Apply(OpKind::kNe, {b, b});
  return f.Apply(OpKind::kOr, {less, f.Apply(OpKind::kAnd, {number, nan})});
}

// The dtype of indices along an axis: i32, half the memory traffic, if the dim size is known to fit; else i64.
inline DType IndexType(const Graph& graph, const DimExpr& dim_size) {
  int64_t most = std::numeric_limits<int64_t>::max();
  if (dim_size.constant()) most = *dim_size.constant();
  if (dim_size.symbol()) most = graph.symbol(*dim_size.symbol()).max;
  return most <= std::numeric_limits<int32_t>::max() ? DType::kI32 : DType::kI64;
}

// The dim size as `dtype`, one of IndexType's.
absl::StatusOr<Value> AppendDimSize(Graph& graph, const DimExpr& dim, DType dtype);

// Unsigned integers in the order of x, a value of any dtype, as wide as its elements; in the reverse order without
// `largest`.
Value AppendOrderedKeys(Formula& f, const Graph& graph, Value x, bool largest);

// The first `count` values of 0 to n - 1. Every run checks count <= n; the message names "k of top_k".
absl::StatusOr<Value> AppendFirstPositions(Graph& graph, const DimExpr& n, const DimExpr& count, DType dtype);

// x[..., indices[..., i]] of x [..., N] for indices [..., K...], integers, with any number of axes in place of N: [...,
// K...].
absl::StatusOr<Value> AppendPicked(Graph& graph, Value x, Value indices);

}  // namespace tailor

#endif  // TAILOR_GRAPH_ORDERING_H_
