#include "fusion/merge_equal_nodes.h"

#include <cstring>

#include "absl/container/flat_hash_map.h"
#include "fusion/graph_rebuild.h"
#include "graph/custom.h"

namespace tailor {
namespace {

bool SameConstant(const Graph& graph, NodeId a, NodeId b) {
  if (graph.type({a, 0}) != graph.type({b, 0})) return false;
  const ConstantData &x = graph.constant_data(a), &y = graph.constant_data(b);
  if (x.declared_hash != y.declared_hash || x.size != y.size) return false;
  return x.data == y.data || std::memcmp(x.data, y.data, x.size) == 0;
}

// Larger constants are compared only by address: hashing and reading all weights is expensive.
constexpr uint64_t kMaxComparedBytes = 4096;

size_t ConstantKey(const Graph& graph, NodeId id) {
  const ConstantData& data = graph.constant_data(id);
  if (data.size > kMaxComparedBytes) return absl::HashOf(data.size, data.data);
  return absl::HashOf(data.size, absl::string_view(static_cast<const char*>(data.data), data.size));
}

bool SameNode(const Graph& graph, NodeId a, absl::Span<const Value> b_operands, const Graph& from, NodeId b) {
  const Node &x = graph.node(a), &y = from.node(b);
  return x.op == y.op && absl::MakeConstSpan(x.operands) == b_operands && x.attributes == y.attributes;
}

}  // namespace

absl::StatusOr<Graph> MergeEqualNodes(const Graph& graph, const ShapeFacts& facts) {
  absl::flat_hash_map<size_t, std::vector<std::pair<NodeId, NodeId>>> seen;  // (in `graph`, in the result)
  auto rewrite = [&](const NodeRewrite& r) -> absl::StatusOr<std::optional<Value>> {
    const Node& node = r.node();
    if (node.results.size() != 1 || !node.regions.empty() || HasEffects(node)) return std::nullopt;
    bool constant = node.op == OpKind::kConstant;
    size_t key = constant ? ConstantKey(graph, r.id) : absl::HashOf(static_cast<int>(node.op), r.operands);
    for (auto [old, copy] : seen[key]) {
      bool same = constant ? graph.node(old).op == OpKind::kConstant && SameConstant(graph, old, r.id)
                           : SameNode(r.to, copy, r.operands, graph, r.id);
      if (same) return Value{copy, 0};
    }
    seen[key].emplace_back(r.id, static_cast<NodeId>(r.to.nodes().size()));
    return std::nullopt;
  };
  return RebuildGraph(graph, {.rewrite = rewrite});
}

}  // namespace tailor
