// Rewrite: dims become canonical, so that later passes can compare structure.
#ifndef TAILOR_FUSION_SETTLE_TYPES_H_
#define TAILOR_FUSION_SETTLE_TYPES_H_

#include "absl/status/statusor.h"
#include "analysis/shape_facts.h"
#include "graph/graph.h"

namespace tailor {

// Preserves: values, names, order of nodes. Equal symbols become the representative of their class.
absl::StatusOr<Graph> SettleTypes(const Graph& graph, const ShapeFacts& facts);

}  // namespace tailor

#endif  // TAILOR_FUSION_SETTLE_TYPES_H_
