// Checks every invariant of a Graph anew: order, ids, arity, attributes, types against the rules,
// symbols in range, closed regions, outputs. A failure is a bug of the pass that made the graph.
#ifndef TAILOR_GRAPH_VERIFIER_H_
#define TAILOR_GRAPH_VERIFIER_H_

#include "absl/status/status.h"
#include "graph/graph.h"

namespace tailor {

absl::Status VerifyGraph(const Graph& graph);

}  // namespace tailor

#endif  // TAILOR_GRAPH_VERIFIER_H_
