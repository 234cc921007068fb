#include "fusion/remove_dead_nodes.h"

#include "fusion/fusion_context.h"
#include "fusion/graph_rebuild.h"

namespace tailor {

absl::StatusOr<Graph> RemoveDeadNodes(const Graph& graph, const ShapeFacts& facts) {
  Uses uses(graph, std::vector<bool>(graph.nodes().size(), false));
  auto rewrite = [&](const NodeRewrite& r) -> absl::StatusOr<std::optional<Value>> {
    if (uses.live(r.id)) return std::nullopt;
    return Value{};
  };
  return RebuildGraph(graph, {.rewrite = rewrite});
}

}  // namespace tailor
