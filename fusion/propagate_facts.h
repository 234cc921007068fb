// Passes shape facts of a graph on to its regions and continuations.
#ifndef TAILOR_FUSION_PROPAGATE_FACTS_H_
#define TAILOR_FUSION_PROPAGATE_FACTS_H_

#include <map>
#include <vector>

#include "absl/status/statusor.h"
#include "analysis/shape_facts.h"
#include "graph/graph.h"

namespace tailor {

// A copy of region `region` of node `id`, with the facts that `facts` has on the dim sizes of its arguments: ranges,
// divisors, likely values, equalities. Dim sizes that a loop's body changes get no facts.
absl::StatusOr<Graph> PropagateFacts(const Graph& graph, const ShapeFacts& facts, NodeId id, int region);

// The same for `next`, the stage that continuation node `id` calls.
absl::StatusOr<Graph> PropagateFacts(const Graph& graph, const ShapeFacts& facts, NodeId id, const Graph& next);

// The symbols of region `region` of node `id` as expressions over the symbols of `graph`, where known: a region's
// symbol is a dim size of one or more of its arguments. Dim sizes that a loop's body changes are not known.
std::map<SymbolId, std::vector<DimExpr>> SymbolsAround(const Graph& graph, NodeId id, int region);

// Per argument of a loop's body and per dim: whether the dim size is loop-invariant.
std::vector<std::vector<bool>> LoopInvariantDims(const Graph& body);

}  // namespace tailor

#endif  // TAILOR_FUSION_PROPAGATE_FACTS_H_
