#include "fusion/compose_views.h"

#include "fusion/graph_rebuild.h"
#include "graph/status_macros.h"

namespace tailor {

absl::StatusOr<Graph> ComposeViews(const Graph& graph, const ShapeFacts& facts) {
  auto rewrite = [&](const NodeRewrite& r) -> absl::StatusOr<std::optional<Value>> {
    OpKind op = r.node().op;
    if (op != OpKind::kTranspose && op != OpKind::kReshape) return std::nullopt;
    const Node& inner = r.to.node(r.operands[0].node);
    if (inner.op != op) return std::nullopt;
    Attributes attributes = r.node().attributes;
    if (op == OpKind::kTranspose) {
      std::vector<int64_t> permutation;
      for (int64_t d : r.node().i64s("permutation")) permutation.push_back(inner.i64s("permutation")[d]);
      attributes["permutation"] = std::move(permutation);
    }
    std::vector<Value> operands = inner.operands;  // appending moves the nodes
    TAILOR_ASSIGN_OR_RETURN(Value composed, AppendInPlace(r, op, operands, std::move(attributes)));
    return composed;
  };
  return RebuildGraph(graph, {.rewrite = rewrite});
}

}  // namespace tailor
