// Constants laid side by side while compiling, so that nothing is copied during a run.
#ifndef TAILOR_FUSION_JOIN_CONSTANTS_H_
#define TAILOR_FUSION_JOIN_CONSTANTS_H_

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"

namespace tailor {

// Adds to `to` the matrices [K, N_i] of `from` as one [K, sum of N_i]; with `transposed` they are [N_i, K] and become
// [sum of N_i, K]. They have one dtype and one K. RESOURCE_EXHAUSTED where there is no memory for the copy.
absl::StatusOr<Value> JoinMatrices(const Graph& from, absl::Span<const NodeId> matrices, bool transposed, Graph& to);

// `columns` elements of a vector: those of `constant`, which has so many or one for all, or `fill` where it is -1.
struct VectorPart {
  NodeId constant = -1;
  double fill = 0;
  int64_t columns = 0;
};

// Adds to `to` the parts as one vector.
absl::StatusOr<Value> JoinVectors(const Graph& from, DType dtype, absl::Span<const VectorPart> parts, Graph& to);

}  // namespace tailor

#endif  // TAILOR_FUSION_JOIN_CONSTANTS_H_
