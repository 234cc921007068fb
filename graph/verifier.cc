#include "graph/verifier.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/status_macros.h"

namespace tailor {
namespace {

absl::Status Failure(const Graph& graph, NodeId id, absl::string_view message) {
  return absl::InternalError(
      absl::StrCat("graph \"", graph.name(), "\", node ", id, " (", InfoOf(graph.node(id).op).text, "): ", message));
}

template <typename T>
const T* FindAttribute(const Node& node, absl::string_view name) {
  auto it = node.attributes.find(name);
  return it == node.attributes.end() ? nullptr : std::get_if<T>(&it->second);
}

// Appends a copy of node `id` of `graph` to `replay`, which holds exactly the nodes before it. Append thus repeats all
// of its checks.
absl::StatusOr<NodeId> Replay(const Graph& graph, NodeId id, Graph* replay) {
  const Node& node = graph.node(id);
  if (node.op != OpKind::kInput && node.op != OpKind::kConstant) {
    return replay->Append(node.op, node.operands, node.attributes, node.regions);
  }
  const auto* name = FindAttribute<std::string>(node, "name");
  const auto* dtype = FindAttribute<DType>(node, "dtype");
  const auto* shape = FindAttribute<Shape>(node, "shape");
  if (name == nullptr || dtype == nullptr || shape == nullptr) {
    return absl::InvalidArgumentError("an attribute is missing");
  }
  if (!node.operands.empty() || !node.regions.empty()) {
    return absl::InvalidArgumentError("operands or regions are not allowed here");
  }
  auto value = node.op == OpKind::kInput ? replay->AddInput(*name, *dtype, *shape)
                                         : replay->AddConstant(*name, *dtype, *shape, graph.constant_data(id));
  if (!value.ok()) return value.status();
  return value->node;
}

absl::Status VerifyNode(const Graph& graph, NodeId id, VerifiedRegions* verified, Graph* replay) {
  const Node& node = graph.node(id);
  for (const Region& region : node.regions) {
    if (region.graph == nullptr) return Failure(graph, id, "a region is missing");
    if (verified->contains(region.graph)) continue;
    absl::Status status = VerifyGraph(*region.graph, verified);
    if (!status.ok()) return Failure(graph, id, status.message());
    verified->insert(region.graph);
  }
  absl::StatusOr<NodeId> copy = Replay(graph, id, replay);
  if (!copy.ok()) return Failure(graph, id, copy.status().message());
  const Node& expected = replay->node(*copy);
  if (node.results != expected.results) return Failure(graph, id, "the result types are not what the rules give");
  if (node.attributes != expected.attributes) return Failure(graph, id, "the attributes are not canonical");
  return absl::OkStatus();
}

}  // namespace

absl::Status VerifyGraph(const Graph& graph) {
  VerifiedRegions verified;
  return VerifyGraph(graph, &verified);
}

absl::Status VerifyGraph(const Graph& graph, VerifiedRegions* verified) {
  Graph replay(graph.name());
  for (const SymbolInfo& symbol : graph.symbols()) TAILOR_RETURN_IF_ERROR(replay.AddSymbol(symbol).status());
  for (const Assumption& assumption : graph.assumptions()) TAILOR_RETURN_IF_ERROR(replay.Assume(assumption));
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    TAILOR_RETURN_IF_ERROR(VerifyNode(graph, id, verified, &replay));
  }
  if (graph.inputs() != replay.inputs()) {
    return absl::InternalError(absl::StrCat("graph \"", graph.name(), "\": the list of inputs is not its input nodes"));
  }
  for (const Output& output : graph.outputs()) TAILOR_RETURN_IF_ERROR(replay.AddOutput(output.name, output.value));
  return absl::OkStatus();
}

}  // namespace tailor
