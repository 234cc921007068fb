#include "fusion/settle_types.h"

#include "fusion/graph_rebuild.h"

namespace tailor {

absl::StatusOr<Graph> SettleTypes(const Graph& graph, const ShapeFacts& facts) {
  return RebuildGraph(graph, {.settle_dim = [&](const DimExpr& dim) { return facts.Canonical(dim); }});
}

}  // namespace tailor
