#include "tests/fuzz/shrink_graph.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/reference_symbols.h"

namespace tailor {
namespace {

// A node with regions that becomes smaller in itself.
struct Reduced {
  NodeId node = -1;
  std::vector<Value> operands;
  Attributes attributes;
  std::vector<Region> regions;
  std::vector<int32_t> results;  // by old result: the new one, -1 for none
};

// A change to a graph. Nodes that no output needs go in any case.
struct Change {
  std::vector<Value> outputs;
  NodeId cut = -1;  // its results become inputs
  Value replaced;   // its users take `by` instead
  Value by;
  NodeId dropped_input = -1;  // if nothing needs it
  Reduced reduced;
};

class Rebuild {
 public:
  Rebuild(const Graph& graph, const Change& change) : graph_(graph), change_(change), result_(graph.name()) {}

  // Nullopt where the type rules refuse the result.
  std::optional<Graph> Run() {
    for (const SymbolInfo& symbol : graph_.symbols()) {
      if (!result_.AddSymbol(symbol).ok()) return std::nullopt;
    }
    for (const Assumption& assumption : graph_.assumptions()) {
      if (!result_.Assume(assumption).ok()) return std::nullopt;
    }
    const std::vector<bool> needed = Needed();
    for (NodeId id = 0; id < static_cast<NodeId>(graph_.nodes().size()); ++id) {
      if (needed[id] && !Copy(id)) return std::nullopt;
    }
    for (Value v : change_.outputs) {
      const std::optional<Value> copy = New(v);
      if (!copy || !result_.AddOutput(absl::StrCat("y", result_.outputs().size()), *copy).ok()) return std::nullopt;
    }
    return std::move(result_);
  }

 private:
  Value Replaced(Value v) const { return v == change_.replaced ? change_.by : v; }
  std::optional<Value> New(Value v) const {
    const auto it = new_of_.find(Replaced(v));
    return it == new_of_.end() ? std::nullopt : std::optional(it->second);
  }
  const std::vector<Value>& Operands(NodeId id) const {
    return id == change_.reduced.node ? change_.reduced.operands : graph_.node(id).operands;
  }

  std::vector<bool> Needed() const {
    const std::vector<std::optional<NodeId>> sources = reference::SymbolSources(graph_);
    std::vector<bool> needed(graph_.nodes().size(), false);
    for (Value v : change_.outputs) needed[Replaced(v).node] = true;
    for (NodeId id = static_cast<NodeId>(needed.size()) - 1; id >= 0; --id) {
      const Node& node = graph_.node(id);
      if (node.op == OpKind::kInput && id != change_.dropped_input) needed[id] = true;
      if (!needed[id] || id == change_.cut) continue;
      for (Value operand : Operands(id)) needed[Replaced(operand).node] = true;
      for (SymbolId symbol : reference::SymbolsOf(node)) {
        if (sources[symbol]) needed[*sources[symbol]] = true;
      }
    }
    return needed;
  }

  // A name for an input that no other input has.
  std::string FreshName(NodeId id, size_t result) const {
    std::string name = absl::StrCat("cut", id);
    if (result > 0) absl::StrAppend(&name, "_", result);
    for (NodeId input : graph_.inputs()) {
      if (graph_.node(input).string("name") != name) continue;
      return FreshName(id + static_cast<NodeId>(graph_.nodes().size()), result);
    }
    return name;
  }

  bool Copy(NodeId id) {
    const Node& node = graph_.node(id);
    const TensorType& type = node.results[0];
    if (node.op == OpKind::kInput) return Keep({id, 0}, result_.AddInput(node.string("name"), type.dtype, type.shape));
    if (id == change_.cut) return Cut(id);
    if (node.op != OpKind::kConstant) return CopyOp(id);
    const auto copy = result_.AddConstant(node.string("name"), type.dtype, type.shape, graph_.constant_data(id));
    if (copy.ok() && type.rank() == 0) result_.SetNodeName(copy->node, "");
    return Keep({id, 0}, copy);
  }

  bool Keep(Value old, const absl::StatusOr<Value>& copy) {
    if (copy.ok()) new_of_[old] = *copy;
    return copy.ok();
  }

  bool Cut(NodeId id) {
    const std::vector<TensorType>& types = graph_.node(id).results;
    for (size_t r = 0; r < types.size(); ++r) {
      const Value old{id, static_cast<int32_t>(r)};
      if (!Keep(old, result_.AddInput(FreshName(id, r), types[r].dtype, types[r].shape))) return false;
    }
    return true;
  }

  bool CopyOp(NodeId id) {
    const Node& node = graph_.node(id);
    const bool reduced = id == change_.reduced.node;
    std::vector<Value> operands;
    for (Value operand : Operands(id)) {
      const std::optional<Value> copy = New(operand);
      if (!copy) return false;
      operands.push_back(*copy);
    }
    const auto appended = result_.Append(node.op, operands, reduced ? change_.reduced.attributes : node.attributes,
                                         reduced ? change_.reduced.regions : node.regions);
    if (!appended.ok()) return false;
    for (size_t r = 0; r < node.results.size(); ++r) {
      const int32_t old = static_cast<int32_t>(r), copy = reduced ? change_.reduced.results[r] : old;
      if (copy >= 0) new_of_[{id, old}] = {*appended, copy};
    }
    return true;
  }

  const Graph& graph_;
  const Change& change_;
  Graph result_;
  std::map<Value, Value> new_of_;
};

std::vector<Value> OutputsOf(const Graph& graph) {
  std::vector<Value> outputs;
  for (const Output& output : graph.outputs()) outputs.push_back(output.value);
  return outputs;
}

std::vector<Change> RegionChanges(const Graph& region);

// The node as it is.
Reduced Whole(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  Reduced whole{id, node.operands, node.attributes, node.regions, {}};
  for (size_t r = 0; r < node.results.size(); ++r) whole.results.push_back(static_cast<int32_t>(r));
  return whole;
}

// Without the dim sizes of result `dropped`.
void DropShape(const Node& node, size_t dropped, Attributes* attributes) {
  auto& shapes = std::get<Shape>(attributes->at("shapes"));
  if (shapes.empty()) return;
  int64_t first = 0;
  for (size_t r = 0; r < dropped; ++r) first += node.results[r].rank();
  shapes.erase(shapes.begin() + first, shapes.begin() + first + node.results[dropped].rank());
}

// Without the region's argument and its result of these numbers, -1 for none.
std::optional<Region> Without(const Region& region, int64_t argument, int64_t result) {
  Change change{.outputs = OutputsOf(*region.graph)};
  if (result >= 0) change.outputs.erase(change.outputs.begin() + result);
  if (argument >= 0) change.dropped_input = region.graph->inputs()[argument];
  auto smaller = Rebuild(*region.graph, change).Run();
  const bool dropped = smaller && smaller->inputs().size() + (argument >= 0) == region.graph->inputs().size();
  if (!dropped) return std::nullopt;
  return Region{std::make_shared<const Graph>(*std::move(smaller))};
}

// Drops argument and result, -1 for none, from all regions of the node.
std::optional<Reduced> WithoutValue(const Graph& graph, NodeId id, int64_t argument, int64_t result) {
  const Node& node = graph.node(id);
  Reduced reduced = Whole(graph, id);
  for (size_t i = 0; i < reduced.regions.size(); ++i) {
    const bool condition = node.op == OpKind::kWhile && i == 0;
    const auto smaller = Without(node.regions[i], argument, condition ? -1 : result);
    if (!smaller) return std::nullopt;
    reduced.regions[i] = *smaller;
  }
  if (argument >= 0) reduced.operands.erase(reduced.operands.begin() + argument + (node.op == OpKind::kIf ? 1 : 0));
  if (result >= 0) {
    DropShape(node, result, &reduced.attributes);
    for (size_t r = result; r < reduced.results.size(); ++r) --reduced.results[r];
    reduced.results[result] = -1;
  }
  return reduced;
}

// Every way to make a node with regions smaller in itself.
std::vector<Reduced> Reductions(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  std::vector<Reduced> all;
  const auto add = [&](std::optional<Reduced> reduced) {
    if (reduced) all.push_back(*std::move(reduced));
  };
  const bool loop = node.op == OpKind::kWhile;
  for (int64_t r = 0; r < static_cast<int64_t>(node.results.size()) && node.results.size() > 1; ++r) {
    add(WithoutValue(graph, id, loop ? r : -1, r));
  }
  for (int64_t i = 0; i + 1 < static_cast<int64_t>(node.operands.size()) && !loop; ++i) {
    add(WithoutValue(graph, id, i, -1));
  }
  for (size_t i = 0; i < node.regions.size(); ++i) {
    for (const Change& change : RegionChanges(*node.regions[i].graph)) {
      auto smaller = Rebuild(*node.regions[i].graph, change).Run();
      if (!smaller) continue;
      add(Whole(graph, id));
      all.back().regions[i] = {std::make_shared<const Graph>(*std::move(smaller))};
    }
  }
  return all;
}

// The users of each result take an operand of its type, or another of `others`.
void AppendReplacements(const Graph& graph, NodeId id, const std::vector<Value>& outputs, std::vector<Value> others,
                        std::vector<Change>* changes) {
  const Node& node = graph.node(id);
  others.insert(others.begin(), node.operands.begin(), node.operands.end());
  for (size_t r = 0; r < node.results.size(); ++r) {
    for (Value other : others) {
      const Value replaced{id, static_cast<int32_t>(r)};
      if (graph.type(other) != node.results[r]) continue;
      changes->push_back({.outputs = outputs, .replaced = replaced, .by = other});
    }
  }
}

void AppendReductions(const Graph& graph, NodeId id, const std::vector<Value>& outputs, std::vector<Change>* changes) {
  if (graph.node(id).regions.empty()) return;
  for (Reduced& reduced : Reductions(graph, id))
    changes->push_back({.outputs = outputs, .reduced = std::move(reduced)});
}

// Changes that leave arguments and results as they are.
std::vector<Change> RegionChanges(const Graph& region) {
  std::vector<Value> arguments;
  for (NodeId id : region.inputs()) arguments.push_back({id, 0});
  std::vector<Change> changes = {{.outputs = OutputsOf(region)}};
  for (NodeId id = 0; id < static_cast<NodeId>(region.nodes().size()); ++id) {
    const OpKind op = region.node(id).op;
    if (op == OpKind::kInput || op == OpKind::kConstant) continue;
    AppendReplacements(region, id, OutputsOf(region), arguments, &changes);
    AppendReductions(region, id, OutputsOf(region), &changes);
  }
  return changes;
}

// Every change that makes `graph` smaller, the most promising first.
std::vector<Change> Changes(const Graph& graph) {
  const std::vector<Value> outputs = OutputsOf(graph);
  std::vector<Change> changes;
  if (outputs.size() > 1) {
    for (Value v : outputs) changes.push_back({.outputs = {v}});
  } else {
    for (Value operand : graph.node(outputs[0].node).operands) changes.push_back({.outputs = {operand}});
  }
  changes.push_back({.outputs = outputs});
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    const Node& node = graph.node(id);
    for (size_t r = 0; r < node.results.size() && !node.operands.empty(); ++r) {
      changes.push_back({.outputs = {{id, static_cast<int32_t>(r)}}});  // in case it fails without a use
    }
    if (node.op == OpKind::kInput) {
      changes.push_back({.outputs = outputs, .dropped_input = id});
      continue;
    }
    AppendReplacements(graph, id, outputs, {}, &changes);
    if (node.op != OpKind::kConstant) changes.push_back({.outputs = outputs, .cut = id});
    AppendReductions(graph, id, outputs, &changes);
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
