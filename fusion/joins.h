// Joins: pairs of dim sizes that broadcasting combines. Only at run time is it known whether they are equal or one of
// them is 1.
//
// Nested joins grow: in a feature pyramid, every later kernel computes with bcast(H, 2*bcast(floordiv(H + 1, 2), ...)).
// Such a graph is compiled in two versions: one in which the dim sizes of every join are equal, and the graph as it is.
// A run chooses once, by its dim sizes.
#ifndef TAILOR_FUSION_JOINS_H_
#define TAILOR_FUSION_JOINS_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "analysis/shape_facts.h"
#include "graph/graph.h"

namespace tailor {

struct JoinedVersion {
  Graph graph;                                     // assumes that the pairs are equal
  std::vector<std::pair<DimExpr, DimExpr>> equal;  // over symbols that inputs bind
};

// The version of `graph`, one stage of a graph (fusion/split_at_data_dependent_dims.h), in which all joins are equal.
// `facts` are the facts of `graph`; later stages inherit the equalities with the other facts. nullopt in three cases:
// there are no joins; only elementwise nodes, reductions and views read joined dims (their kernels have no_broadcast
// versions); or the joins can never all be equal.
absl::StatusOr<std::optional<JoinedVersion>> VersionWithoutJoins(const Graph& graph, const ShapeFacts& facts);

// "H == 2*floordiv(H + 1, 2), W == 2*floordiv(W + 1, 2)"
std::string JoinsText(const Graph& graph, const JoinedVersion& version);

}  // namespace tailor

#endif  // TAILOR_FUSION_JOINS_H_
