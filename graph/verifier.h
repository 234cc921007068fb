// Rechecks every invariant of a Graph: order, ids, arity, attributes, types against the rules, symbols in range, closed
// regions, outputs. A failure is a bug of the pass that made the graph.
#ifndef TAILOR_GRAPH_VERIFIER_H_
#define TAILOR_GRAPH_VERIFIER_H_

#include <memory>
#include <set>

#include "absl/status/status.h"
#include "graph/graph.h"

namespace tailor {

absl::Status VerifyGraph(const Graph& graph);

// Regions that are verified already. Region graphs are immutable, so that a pass that keeps one need not recheck it.
using VerifiedRegions = std::set<std::shared_ptr<const Graph>>;
absl::Status VerifyGraph(const Graph& graph, VerifiedRegions* verified);

}  // namespace tailor

#endif  // TAILOR_GRAPH_VERIFIER_H_
