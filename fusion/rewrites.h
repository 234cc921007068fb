// Graph rewrites before fusion: one list (rewrites.cc), each rewrite a free function in its own file. The graph is
// verified after each. If TAILOR_DUMP=<dir> is set in the environment, each result is written there.
#ifndef TAILOR_FUSION_REWRITES_H_
#define TAILOR_FUSION_REWRITES_H_

#include "absl/status/statusor.h"
#include "analysis/shape_facts.h"
#include "fusion/at_pass.h"
#include "graph/graph.h"

namespace tailor {

// Each pass builds a new graph with the same inputs, outputs, symbols and meaning. The rewrites make dims canonical
// with `facts`; remove unused nodes, identity views and implied broadcasts; merge equal nodes and matmuls; and simplify
// algebra such as x*1. `at_pass` reports progress, may cancel, and leaves optional passes out.
absl::StatusOr<Graph> Rewrite(const Graph& graph, const ShapeFacts& facts, const AtPass& at_pass = {});

// The names of the passes that may be left out: results agree within rounding.
std::vector<std::string> OptionalRewrites();

}  // namespace tailor

#endif  // TAILOR_FUSION_REWRITES_H_
