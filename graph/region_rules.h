// Type rules of the ops with regions: while, if, and the continuation.
#ifndef TAILOR_GRAPH_REGION_RULES_H_
#define TAILOR_GRAPH_REGION_RULES_H_

#include <vector>

#include "absl/status/statusor.h"
#include "graph/shape_rules.h"

namespace tailor {

// A region is a closed graph with its own symbols, bound to its arguments' dim sizes at each entry. An argument's type
// is thus a pattern for its operand's type: f32[N] accepts any vector.
//
// while(carried...): regions condition (carried -> bool[]) and body (carried -> carried). The body may change dim
// sizes; a dim size that it never changes is the operand's. if(condition, captured...): regions then and else, both
// captured -> results.
//
// The attribute `shapes` lists the dim sizes of all results, concatenated; -1 means inferred, and an empty list infers
// all. An entry is needed for a data-dependent dim size: a symbol that no earlier node mentions.
absl::StatusOr<std::vector<TensorType>> WhileTypes(const Application& op);
absl::StatusOr<std::vector<TensorType>> IfTypes(const Application& op);

// For each result of a while or an if: which of its dim sizes are data-dependent.
std::vector<std::vector<bool>> DataDependentDims(const Graph& graph, const Node& node);

// rest(values...): the last node of a stage, which calls its continuation, the next stage
// (fusion/split_at_data_dependent_dims.h makes both). The next stage's arguments are the values, followed by one u8[dim
// size] without data for each entry of attribute `extents`; these arguments bind symbols. If counts[i] >= 0, that dim
// size is the value of operand counts[i], an i64[]. outputs[i] is the position of the continuation's output i among the
// outputs of this and all later stages; this stage's outputs take the other positions in order. No regions, no results.
absl::StatusOr<std::vector<TensorType>> ContinuationTypes(const Application& op);

}  // namespace tailor

#endif  // TAILOR_GRAPH_REGION_RULES_H_
