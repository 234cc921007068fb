#include "fusion/eliminate_broadcasts.h"

#include "fusion/graph_rebuild.h"
#include "fusion/node_class.h"
#include "graph/status_macros.h"
#include "graph/type_rules.h"

namespace tailor {
namespace {

bool KeepsType(const NodeRewrite& r, absl::Span<const Value> operands) {
  std::vector<TensorType> types;
  for (Value v : operands) types.push_back(r.to.type(v));
  auto symbol_name = [&](SymbolId id) { return r.to.symbol(id).name; };
  absl::StatusOr<std::vector<TensorType>> results =
      InferTypes(r.node().op, types, {}, r.node().attributes, {}, symbol_name);
  return results.ok() && *results == r.node().results;
}

}  // namespace

absl::StatusOr<Graph> EliminateBroadcasts(const Graph& graph, const ShapeFacts& facts) {
  auto rewrite = [&](const NodeRewrite& r) -> absl::StatusOr<std::optional<Value>> {
    if (ClassOf(r.node()) != FusionClass::kElementwise) return std::nullopt;
    std::vector<Value> operands(r.operands.begin(), r.operands.end());
    bool changed = false;
    for (Value& operand : operands) {
      const Node& producer = r.to.node(operand.node);
      if (producer.op != OpKind::kBroadcast) continue;
      Value broadcast = std::exchange(operand, producer.operands[0]);
      bool keeps = KeepsType(r, operands);
      if (!keeps) operand = broadcast;
      changed |= keeps;
    }
    if (!changed) return std::nullopt;
    TAILOR_ASSIGN_OR_RETURN(Value v, AppendInPlace(r, r.node().op, operands, r.node().attributes));
    return v;
  };
  return RebuildGraph(graph, {.rewrite = rewrite});
}

}  // namespace tailor
