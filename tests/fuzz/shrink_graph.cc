#include "tests/fuzz/shrink_graph.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace tailor {
namespace {

// A change to a graph. Nodes that no output needs go in any case.
struct Change {
  std::vector<Value> outputs;
  NodeId cut = -1;       // becomes an input
  NodeId replaced = -1;  // its users take `by` instead
  Value by;
  NodeId dropped_input = -1;  // if nothing needs it
};

class Rebuild {
 public:
  Rebuild(const Graph& graph, const Change& change) : graph_(graph), change_(change), result_(graph.name()) {}

  // Nullopt where the type rules refuse the result.
  std::optional<Graph> Run() {
    for (const SymbolInfo& symbol : graph_.symbols()) {
      if (!result_.AddSymbol(symbol).ok()) return std::nullopt;
    }
    for (const auto& [a, b] : graph_.assumed_equal()) {
      if (!result_.AssumeEqual(a, b).ok()) return std::nullopt;
    }
    const std::vector<bool> needed = Needed();
    for (NodeId id = 0; id < static_cast<NodeId>(graph_.nodes().size()); ++id) {
      if (needed[id] && !Copy(id)) return std::nullopt;
    }
    for (Value v : change_.outputs) {
      if (!result_.AddOutput(absl::StrCat("y", result_.outputs().size()), New(v)).ok()) return std::nullopt;
    }
    return std::move(result_);
  }

 private:
  Value Replaced(Value v) const { return v.node == change_.replaced ? change_.by : v; }
  Value New(Value v) const { return new_of_.at(Replaced(v)); }

  std::vector<bool> Needed() const {
    std::vector<bool> needed(graph_.nodes().size(), false);
    for (Value v : change_.outputs) needed[Replaced(v).node] = true;
    for (NodeId id = static_cast<NodeId>(needed.size()) - 1; id >= 0; --id) {
      const Node& node = graph_.node(id);
      if (node.op == OpKind::kInput && id != change_.dropped_input) needed[id] = true;
      if (!needed[id] || id == change_.cut) continue;
      for (Value operand : node.operands) needed[Replaced(operand).node] = true;
    }
    return needed;
  }

  // A name for an input that no other input has.
  std::string FreshName(NodeId id) const {
    std::string name = absl::StrCat("cut", id);
    for (NodeId input : graph_.inputs()) {
      if (graph_.node(input).string("name") == name) return FreshName(id + static_cast<NodeId>(graph_.nodes().size()));
    }
    return name;
  }

  bool Copy(NodeId id) {
    const Node& node = graph_.node(id);
    const TensorType& type = node.results[0];
    absl::StatusOr<Value> copy;
    if (node.op == OpKind::kInput) {
      copy = result_.AddInput(node.string("name"), type.dtype, type.shape);
    } else if (id == change_.cut) {
      copy = result_.AddInput(FreshName(id), type.dtype, type.shape);
    } else if (node.op == OpKind::kConstant) {
      copy = result_.AddConstant(node.string("name"), type.dtype, type.shape, graph_.constant_data(id));
      if (copy.ok() && type.rank() == 0) result_.SetNodeName(copy->node, "");
    } else {
      std::vector<Value> operands;
      for (Value operand : node.operands) operands.push_back(New(operand));
      const auto appended = result_.Append(node.op, operands, node.attributes);
      if (!appended.ok()) return false;
      copy = Value{*appended, 0};
    }
    if (!copy.ok()) return false;
    new_of_[{id, 0}] = *copy;
    return true;
  }

  const Graph& graph_;
  const Change& change_;
  Graph result_;
  std::map<Value, Value> new_of_;
};

// Every change that makes `graph` smaller, the most promising first.
std::vector<Change> Changes(const Graph& graph) {
  std::vector<Value> outputs;
  for (const Output& output : graph.outputs()) outputs.push_back(output.value);
  std::vector<Change> changes;
  if (outputs.size() > 1) {
    for (Value v : outputs) changes.push_back({.outputs = {v}});
  } else {
    for (Value operand : graph.node(outputs[0].node).operands) changes.push_back({.outputs = {operand}});
  }
  changes.push_back({.outputs = outputs});
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    const Node& node = graph.node(id);
    if (!node.operands.empty()) changes.push_back({.outputs = {{id, 0}}});  // in case it fails without a use
    if (node.op == OpKind::kInput) {
      changes.push_back({.outputs = outputs, .dropped_input = id});
      continue;
    }
    for (Value operand : node.operands) {
      if (graph.type(operand) == node.results[0]) {
        changes.push_back({.outputs = outputs, .replaced = id, .by = operand});
      }
    }
    if (node.op != OpKind::kConstant) changes.push_back({.outputs = outputs, .cut = id});
  }
  return changes;
}

}  // namespace

Graph ShrinkGraph(const Graph& graph, int attempts, const std::function<bool(const Graph&)>& fails) {
  Graph smallest = graph;
  for (bool progress = true; progress;) {
    progress = false;
    for (const Change& change : Changes(smallest)) {
      std::optional<Graph> candidate = Rebuild(smallest, change).Run();
      const bool smaller = candidate && candidate->ToText().size() < smallest.ToText().size();
      if (!smaller) continue;
      if (attempts-- <= 0) return smallest;
      if (!fails(*candidate)) continue;
      smallest = *std::move(candidate);
      progress = true;
      break;
    }
  }
  return smallest;
}

}  // namespace tailor
