// Concatenates and transposes constants at compile time, so that no run copies them.
#ifndef TAILOR_FUSION_REARRANGE_CONSTANTS_H_
#define TAILOR_FUSION_REARRANGE_CONSTANTS_H_

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"

namespace tailor {

// Adds to `to` one matrix [K, sum of N_i], the concatenation of matrices [K, N_i] of `from`. With `transposed` they are
// [N_i, K] and become [sum of N_i, K]. All have one dtype and one K. Errors: RESOURCE_EXHAUSTED if memory for the copy
// is missing.
absl::StatusOr<Value> JoinMatrices(const Graph& from, absl::Span<const NodeId> matrices, bool transposed, Graph& to);

// `columns` elements of a vector: those of `constant`, which has `columns` elements or one for all; `fill` if -1.
struct VectorPart {
  NodeId constant = -1;
  double fill = 0;
  int64_t columns = 0;
};

// Adds to `to` the concatenation of `parts` as one vector.
absl::StatusOr<Value> JoinVectors(const Graph& from, DType dtype, absl::Span<const VectorPart> parts, Graph& to);

// Adds to `to` a constant of `shape`: each of `count` row-major matrices [rows, columns] of `constant`, transposed.
absl::StatusOr<Value> TransposeMatrices(const Graph& from, NodeId constant, int64_t count, int64_t rows,
                                        int64_t columns, const Shape& shape, Graph& to);

}  // namespace tailor

#endif  // TAILOR_FUSION_REARRANGE_CONSTANTS_H_
