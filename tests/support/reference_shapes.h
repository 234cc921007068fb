// Concrete shapes by numpy's rules, from concrete operand shapes: the reference evaluator's own shape rules.
#ifndef TAILOR_TESTS_SUPPORT_REFERENCE_SHAPES_H_
#define TAILOR_TESTS_SUPPORT_REFERENCE_SHAPES_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace tailor::reference {

using Dims = std::vector<int64_t>;

// INVALID_ARGUMENT for a divisor below 1.
absl::StatusOr<int64_t> EvaluateDim(const DimExpr& dim, const std::vector<int64_t>& symbols);
absl::StatusOr<Dims> EvaluateDims(const Shape& shape, const std::vector<int64_t>& symbols);

// The numpy broadcast of two shapes.
absl::StatusOr<Dims> BroadcastDims(const Dims& a, const Dims& b);

// The result's dims. INVALID_ARGUMENT where the op refuses them; FAILED_PRECONDITION where the op may or may not: an
// empty slice that starts outside.
absl::StatusOr<Dims> ResultDims(const Node& node, const std::vector<Dims>& operands,
                                const std::vector<int64_t>& symbols);

// Dims of every node of a graph without regions, by NodeId. Fails as ResultDims, and with INVALID_ARGUMENT
// where a symbol leaves its declared range or an assumed equality does not hold.
absl::StatusOr<std::vector<Dims>> GraphDims(const Graph& graph, const std::vector<int64_t>& symbols);

}  // namespace tailor::reference

#endif  // TAILOR_TESTS_SUPPORT_REFERENCE_SHAPES_H_
