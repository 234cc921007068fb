// Concrete shapes by numpy's rules, from concrete operand shapes: the reference evaluator's own shape rules.
#ifndef TAILOR_TESTS_SUPPORT_REFERENCE_SHAPES_H_
#define TAILOR_TESTS_SUPPORT_REFERENCE_SHAPES_H_

#include <cstdint>
#include <map>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "graph/graph.h"

namespace tailor::reference {

using Dims = std::vector<int64_t>;

// The value of a symbol that has none yet: one that only a run binds.
constexpr int64_t kUnbound = -1;

// INVALID_ARGUMENT, with the concatenated arguments as its message.
template <typename... Args>
absl::Status Refused(const Args&... args) {
  return absl::InvalidArgumentError(absl::StrCat(args...));
}

// INVALID_ARGUMENT for a divisor below 1, NOT_FOUND for an unbound symbol.
absl::StatusOr<int64_t> EvaluateDim(const DimExpr& dim, const std::vector<int64_t>& symbols);
absl::StatusOr<Dims> EvaluateDims(const Shape& shape, const std::vector<int64_t>& symbols);

// The numpy broadcast of two shapes.
absl::StatusOr<Dims> BroadcastDims(const Dims& a, const Dims& b);

// The result's dims, of an op without regions. INVALID_ARGUMENT where the op refuses them; FAILED_PRECONDITION where
// the op may or may not: an empty slice that starts outside.
absl::StatusOr<Dims> ResultDims(const Node& node, const std::vector<Dims>& operands,
                                const std::vector<int64_t>& symbols);

// Dims of every value, but for those that only a run tells: none of a node that needs them is checked. Fails as
// ResultDims and CheckSymbols do.
absl::StatusOr<std::map<Value, Dims>> GraphDims(const Graph& graph, const std::vector<int64_t>& symbols);

}  // namespace tailor::reference

#endif  // TAILOR_TESTS_SUPPORT_REFERENCE_SHAPES_H_
