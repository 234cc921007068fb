#include "fusion/canonicalize_dims.h"

#include "fusion/graph_rebuild.h"

namespace tailor {

absl::StatusOr<Graph> CanonicalizeDims(const Graph& graph, const ShapeFacts& facts) {
  return RebuildGraph(graph, {.map_dim = [&](const DimExpr& dim) { return facts.Canonical(dim); }});
}

}  // namespace tailor
