#include <string>
#include <unordered_map>
#include <unordered_set>

#include "bindings/frontend/error.h"
#include "bindings/onnx/graph_importer.h"

namespace tailor::onnx {
namespace {

using Names = std::unordered_set<std::string_view>;

// Appends the outer names that a node reads. Subgraphs nest at most as deep as ParseModel allows.
void AppendReads(const NodeProto& node, std::vector<std::string_view>* out);

void AppendFreeNames(const GraphProto& graph, std::vector<std::string_view>* out) {
  Names inner;
  for (const ValueInfo& input : graph.inputs) inner.insert(input.name);
  for (const TensorProto& initializer : graph.initializers) inner.insert(initializer.name);
  for (const NodeProto& node : graph.nodes) inner.insert(node.outputs.begin(), node.outputs.end());
  std::vector<std::string_view> reads;
  for (const NodeProto& node : graph.nodes) AppendReads(node, &reads);
  for (const ValueInfo& output : graph.outputs) reads.push_back(output.name);
  for (std::string_view name : reads) {
    if (!inner.contains(name)) out->push_back(name);
  }
}

void AppendReads(const NodeProto& node, std::vector<std::string_view>* out) {
  for (std::string_view name : node.inputs) {
    if (!name.empty()) out->push_back(name);
  }
  for (const AttributeProto& attribute : node.attributes) {
    if (attribute.g != nullptr) AppendFreeNames(*attribute.g, out);
    for (const auto& graph : attribute.graphs) AppendFreeNames(*graph, out);
  }
}

class Sorter {
 public:
  Sorter(const std::vector<NodeProto>& nodes, const Scope& scope) : nodes_(nodes), scope_(scope) {
    for (const NodeProto& node : nodes) {
      for (std::string_view name : node.outputs) {
        if (name.empty()) continue;
        if (scope.own().contains(name)) Twice(name, node);
        if (!producers_.emplace(name, &node).second) Twice(name, node);
      }
    }
  }

  std::vector<const NodeProto*> Sorted() {
    for (const NodeProto& node : nodes_) Visit(&node);
    return std::move(order_);
  }

 private:
  enum class State { kNew, kActive, kDone };
  struct Frame {
    const NodeProto* node;
    std::vector<std::string_view> reads;
    size_t next = 0;
  };

  [[noreturn]] static void Twice(std::string_view name, const NodeProto& node) {
    throw frontend::Error(TAILOR_INVALID_ARGUMENT, "\"" + std::string(name) + "\" is computed twice", node.Label());
  }

  Frame Enter(const NodeProto* node) {
    states_[node] = State::kActive;
    return {node, ReadsOf(*node)};
  }

  // Without recursion: chains of nodes are long.
  void Visit(const NodeProto* first) {
    if (states_[first] != State::kNew) return;
    std::vector<Frame> stack = {Enter(first)};
    while (!stack.empty()) {
      Frame& top = stack.back();
      if (top.next == top.reads.size()) {
        states_[top.node] = State::kDone;
        order_.push_back(top.node);
        stack.pop_back();
        continue;
      }
      const std::string_view name = top.reads[top.next++];
      const auto producer = producers_.find(name);
      if (producer == producers_.end()) {
        if (scope_.Find(name) != nullptr) continue;
        throw frontend::Error(TAILOR_INVALID_ARGUMENT, "reads \"" + std::string(name) + "\", which nothing computes",
                              top.node->Label());
      }
      const State state = states_[producer->second];
      if (state == State::kActive) {
        throw frontend::Error(TAILOR_INVALID_ARGUMENT,
                              "needs its own result \"" + std::string(name) + "\": the graph has a cycle",
                              top.node->Label());
      }
      if (state == State::kNew) stack.push_back(Enter(producer->second));
    }
  }

  const std::vector<NodeProto>& nodes_;
  const Scope& scope_;
  std::unordered_map<std::string_view, const NodeProto*> producers_;
  std::unordered_map<const NodeProto*, State> states_;
  std::vector<const NodeProto*> order_;
};

}  // namespace

std::vector<std::string_view> ReadsOf(const NodeProto& node) {
  std::vector<std::string_view> reads;
  AppendReads(node, &reads);
  return reads;
}

std::vector<std::string_view> FreeNames(const GraphProto& graph) {
  std::vector<std::string_view> names;
  AppendFreeNames(graph, &names);
  return names;
}

std::vector<const NodeProto*> Ordered(const std::vector<NodeProto>& nodes, const Scope& scope) {
  return Sorter(nodes, scope).Sorted();
}

}  // namespace tailor::onnx
