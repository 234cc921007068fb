// Rewrite: nodes with equal operations, operands and attributes become one.
#ifndef TAILOR_FUSION_MERGE_EQUAL_NODES_H_
#define TAILOR_FUSION_MERGE_EQUAL_NODES_H_

#include "absl/status/statusor.h"
#include "analysis/shape_facts.h"
#include "graph/graph.h"

namespace tailor {

// Preserves: values. Of two equal nodes, the first stays, with its name. Constants are equal by their bytes, large ones
// by address.
absl::StatusOr<Graph> MergeEqualNodes(const Graph& graph, const ShapeFacts& facts);

}  // namespace tailor

#endif  // TAILOR_FUSION_MERGE_EQUAL_NODES_H_
