// Rewrite: removes nodes that no output needs.
#ifndef TAILOR_FUSION_REMOVE_DEAD_NODES_H_
#define TAILOR_FUSION_REMOVE_DEAD_NODES_H_

#include "absl/status/statusor.h"
#include "analysis/shape_facts.h"
#include "graph/graph.h"

namespace tailor {

// Preserves: all inputs, used or not, and every node that an output needs.
absl::StatusOr<Graph> RemoveDeadNodes(const Graph& graph, const ShapeFacts& facts);

}  // namespace tailor

#endif  // TAILOR_FUSION_REMOVE_DEAD_NODES_H_
