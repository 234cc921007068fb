// Graph rewrites before fusion: one visible list (rewrites.cc), each a free function in a file of its
// own, graph verified after each. With TAILOR_DUMP=<dir> in the environment, each result is written there.
#ifndef TAILOR_FUSION_REWRITES_H_
#define TAILOR_FUSION_REWRITES_H_

#include "absl/status/statusor.h"
#include "analysis/shape_facts.h"
#include "fusion/at_pass.h"
#include "graph/graph.h"

namespace tailor {

// Each pass builds a new graph: same inputs, outputs, symbols and user-visible meaning.
// Rewrites settle all types with `facts` (canonical dims), drop unused nodes, merge equal ones, remove
// identity views and broadcasts that an elementwise consumer implies, and simplify x*1, x+0 and the like.
absl::StatusOr<Graph> Rewrite(const Graph& graph, const ShapeFacts& facts, const AtPass& at_pass = {});

}  // namespace tailor

#endif  // TAILOR_FUSION_REWRITES_H_
