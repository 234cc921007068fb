// Rechecks every invariant of a Graph: order, ids, arity, attributes, types against the rules, symbols in range, closed
// regions, outputs. A failure is INTERNAL, names graph and node, and is a bug of the pass that made the graph.
#ifndef TAILOR_GRAPH_VERIFIER_H_
#define TAILOR_GRAPH_VERIFIER_H_

#include <memory>
#include <set>

#include "absl/status/status.h"
#include "graph/graph.h"

namespace tailor {

absl::Status VerifyGraph(const Graph& graph);

// Regions verified before. Region graphs are immutable, so one that a pass keeps is not verified again; newly verified
// ones are added to `verified`.
using VerifiedRegions = std::set<std::shared_ptr<const Graph>>;
absl::Status VerifyGraph(const Graph& graph, VerifiedRegions* verified);

}  // namespace tailor

#endif  // TAILOR_GRAPH_VERIFIER_H_
