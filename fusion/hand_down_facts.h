// Facts that cross into a region.
#ifndef TAILOR_FUSION_HAND_DOWN_FACTS_H_
#define TAILOR_FUSION_HAND_DOWN_FACTS_H_

#include "absl/status/statusor.h"
#include "analysis/shape_facts.h"
#include "graph/graph.h"

namespace tailor {

// Region number `region` of node `id`, which knows what `facts` of the graph around say of its arguments' dim sizes:
// ranges, divisors, likely values, equalities. Dim sizes that a loop's body changes are told nothing.
absl::StatusOr<Graph> HandDownFacts(const Graph& graph, const ShapeFacts& facts, NodeId id, int region);

// The same for `next`, the stage that the `rest` node `id` calls.
absl::StatusOr<Graph> HandDownFacts(const Graph& graph, const ShapeFacts& facts, NodeId id, const Graph& next);

// For each argument of a loop's body: whether each of its dim sizes stays what the operand's is.
std::vector<std::vector<bool>> StableDimSizes(const Graph& body);

}  // namespace tailor

#endif  // TAILOR_FUSION_HAND_DOWN_FACTS_H_
