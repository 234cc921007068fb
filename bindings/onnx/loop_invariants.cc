#include "bindings/onnx/loop_invariants.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "bindings/onnx/graph_importer.h"

namespace tailor::onnx {
namespace {

// Whether the node gives the same for the same operands, and has no subgraph.
bool IsPlain(const NodeProto& node) {
  constexpr std::string_view kRandom[] = {"Bernoulli", "Dropout", "Multinomial"};
  if (!node.domain.empty() || node.op_type.starts_with("Random")) return false;
  return std::find(std::begin(kRandom), std::end(kRandom), node.op_type) == std::end(kRandom) &&
         std::none_of(node.attributes.begin(), node.attributes.end(),
                      [](const AttributeProto& a) { return a.g != nullptr || !a.graphs.empty(); });
}

// The nodes of a body that compute the same in every iteration, by the names of their results. Nodes that do not come
// after those that they read are left out.
std::map<std::string_view, const NodeProto*> InvariantNodes(const GraphProto& body, const Scope& kept) {
  std::set<std::string_view> changing;  // and names of later nodes
  for (const ValueInfo& input : body.inputs) {
    if (kept.Find(input.name) == nullptr) changing.insert(input.name);
  }
  for (const NodeProto& node : body.nodes) changing.insert(node.outputs.begin(), node.outputs.end());
  changing.erase("");  // an absent operand
  std::map<std::string_view, const NodeProto*> invariant;
  for (const NodeProto& node : body.nodes) {
    const auto changes = [&](std::string_view name) { return changing.contains(name); };
    if (!IsPlain(node) || std::any_of(node.inputs.begin(), node.inputs.end(), changes)) continue;
    for (std::string_view name : node.outputs) {
      changing.erase(name);
      invariant.emplace(name, &node);
    }
  }
  return invariant;
}

bool IsMatmul(const NodeProto& node) { return node.op_type == "MatMul" || node.op_type == "Gemm"; }

bool IsOutput(const GraphProto& body, std::string_view name) {
  return std::any_of(body.outputs.begin(), body.outputs.end(),
                     [&](const ValueInfo& output) { return output.name == name; });
}

}  // namespace

GraphProto WithoutInvariantMatmuls(const Node& node, const GraphProto& body, const Scope& kept, Scope& scope) {
  const std::map<std::string_view, const NodeProto*> invariant = InvariantNodes(body, kept);
  std::vector<std::string_view> products;
  std::vector<const NodeProto*> pending;
  GraphProto rest = body;
  rest.nodes.clear();
  for (const NodeProto& each : body.nodes) {
    const auto found = each.outputs.size() == 1 ? invariant.find(each.outputs[0]) : invariant.end();
    if (found == invariant.end() || found->second != &each || !IsMatmul(each) || IsOutput(body, each.outputs[0])) {
      rest.nodes.push_back(each);
      continue;
    }
    products.push_back(each.outputs[0]);
    pending.push_back(&each);
  }
  std::set<const NodeProto*> needed;  // the products, and what they are computed from
  while (!pending.empty()) {
    const NodeProto* next = pending.back();
    pending.pop_back();
    if (!needed.insert(next).second) continue;
    for (std::string_view name : next->inputs) {
      if (const auto found = invariant.find(name); found != invariant.end()) pending.push_back(found->second);
    }
  }
  if (products.empty()) return rest;
  Scope inner(&node.scope());
  for (const auto& [name, tensor] : kept.own()) inner.Set(name, tensor);
  for (const TensorProto& each : body.initializers) inner.Set(each.name, node.importer().Initializer(each));
  std::vector<NodeProto> nodes;
  for (const NodeProto& each : body.nodes) {
    if (needed.contains(&each)) nodes.push_back(each);
  }
  node.importer().ImportNodes(nodes, products, node.opsets(), inner, node.depth() + 1);
  for (std::string_view name : products) scope.Set(name, *inner.Find(name));
  return rest;
}

}  // namespace tailor::onnx
