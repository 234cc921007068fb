// Dims joined by broadcasting: two dim sizes of which a run alone tells whether they are equal or one of them is 1.
//
// Nested joins add up: in a feature pyramid every kernel behind computes with bcast(H, 2*bcast(floordiv(H + 1, 2),
// ...)). Such a graph is compiled in two versions, which a run chooses between once, by its dim sizes: one in which the
// dim sizes of every join are equal, and the graph as it is.
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
  Graph graph;                                     // in which the pairs are assumed to be equal
  std::vector<std::pair<DimExpr, DimExpr>> equal;  // over symbols that inputs bind
};

// `facts` are those of `graph`, one stage of a graph (fusion/split_at_data.h); the stages behind it learn of what is
// equal as they learn of all its facts. nullopt without joins; where only
// elementwise nodes, reductions and views read joined dims, whose kernels choose for themselves (no_broadcast
// versions); and where the dim sizes of all joins are never equal at once.
absl::StatusOr<std::optional<JoinedVersion>> VersionWithoutJoins(const Graph& graph, const ShapeFacts& facts);

// "H == 2*floordiv(H + 1, 2), W == 2*floordiv(W + 1, 2)"
std::string JoinsText(const Graph& graph, const JoinedVersion& version);

}  // namespace tailor

#endif  // TAILOR_FUSION_JOINS_H_
