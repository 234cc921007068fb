// Result types of the ops with regions.
#ifndef TAILOR_GRAPH_REGION_RULES_H_
#define TAILOR_GRAPH_REGION_RULES_H_

#include <vector>

#include "absl/status/statusor.h"
#include "graph/shape_rules.h"

namespace tailor {

// A region is a closed graph with symbols of its own, bound afresh from its arguments' dim sizes whenever it is
// entered. Thus an argument's type is a pattern for its operand's: f32[N] takes any vector.
//
// while(carried...): regions condition (carried -> bool[]) and body (carried -> carried). The body may change dim
// sizes; one that it returns as it got it is the operand's throughout. if(condition, captured...): regions then and
// else, both captured -> results.
//
// The attribute `shapes` lists the dim sizes of all results, one after the other. It is needed where a dim size is
// known only when the op has run: there it has a symbol that nothing before mentions. -1 is inferred, and so are all
// where it is empty.
absl::StatusOr<std::vector<TensorType>> WhileTypes(const Application& op);
absl::StatusOr<std::vector<TensorType>> IfTypes(const Application& op);

// For each result of a while or an if: which of its dim sizes the node tells only when it has run.
std::vector<std::vector<bool>> DataDependentDims(const Graph& graph, const Node& node);

// rest(values...): the last node of a stage, the call of the next one (fusion/split_at_data.h makes both). The next
// stage's arguments are the values, then a u8[dim size] without data for each entry of `dim sizes`, by which it binds
// symbols. Where counts[i] >= 0 that dim size is the value of operand counts[i], an i64[]. outputs[i] is the number,
// among the outputs of this stage and all behind it, of output i of those behind; this stage's take the others in
// order. No regions, no results.
absl::StatusOr<std::vector<TensorType>> ContinuationTypes(const Application& op);

}  // namespace tailor

#endif  // TAILOR_GRAPH_REGION_RULES_H_
