#include "codegen/driver/fold_constants.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "fusion/graph_rebuild.h"
#include "fusion/node_class.h"
#include "graph/status_macros.h"

namespace tailor::driver {
namespace {

bool IsFixed(const Shape& shape) {
  return std::all_of(shape.begin(), shape.end(), [](const DimExpr& dim) { return dim.constant().has_value(); });
}

double Elements(const TensorType& type) {
  double elements = 1;
  for (const DimExpr& dim : type.shape) elements *= static_cast<double>(*dim.constant());
  return elements;
}

// Nodes that compute the same in every run and cannot fail.
bool IsFixed(const Graph& graph, const Node& node) {
  const FusionClass kind = ClassOf(node);
  if (kind == FusionClass::kStructural || kind == FusionClass::kScatter || kind == FusionClass::kControl) return false;
  if (node.op == OpKind::kGather || node.results.size() != 1 || !IsFixed(node.results[0].shape)) return false;
  for (const auto& [name, attribute] : node.attributes) {
    if (const auto* dims = std::get_if<Shape>(&attribute); dims != nullptr && !IsFixed(*dims)) return false;
  }
  return std::all_of(node.operands.begin(), node.operands.end(),
                     [&](Value operand) { return IsFixed(graph.type(operand).shape); });
}

// Estimated cycles * elements of one node.
double Cycles(const Graph& graph, const Node& node) {
  const double results = Elements(node.results[0]);
  if (IsContraction(node)) {
    const TensorType& lhs = graph.type(node.operands[0]);
    const bool transposed = node.i64("transpose_lhs") != 0;
    return results * static_cast<double>(*lhs.shape[lhs.rank() - (transposed ? 2 : 1)].constant());
  }
  const double cost = InfoOf(node.op).cost;
  return cost * (IsReduction(node) ? Elements(graph.type(node.operands[0])) : results);
}

class Folding {
 public:
  Folding(const Graph& graph, const FoldLimits& limits)
      : graph_(graph), limits_(limits), states_(graph.nodes().size()) {
    for (NodeId id = 0; id < static_cast<NodeId>(states_.size()); ++id) Visit(id);
    FindRoots();
  }

  bool Pays() const {
    double cycles = 0;
    for (size_t id = 0; id < states_.size(); ++id) {
      if (!states_[id].needed) continue;
      const TensorType& type = graph_.node(static_cast<NodeId>(id)).results[0];
      if (Elements(type) * SizeOf(type.dtype) > static_cast<double>(limits_.most_bytes)) return false;
      cycles += states_[id].own_cycles;
    }
    return !roots_.empty() && cycles >= static_cast<double>(limits_.least_cycles) &&
           cycles <= static_cast<double>(limits_.most_cycles);
  }

  const std::vector<NodeId>& roots() const { return roots_; }

  // The roots and what they are computed from; its outputs are the roots in order.
  absl::StatusOr<Graph> Subgraph() const {
    Graph constants(graph_.name());
    std::vector<Value> copies(states_.size());
    for (NodeId id = 0; id < static_cast<NodeId>(states_.size()); ++id) {
      if (!states_[id].needed) continue;
      TAILOR_ASSIGN_OR_RETURN(copies[id], Copy(id, copies, constants));
    }
    for (size_t i = 0; i < roots_.size(); ++i) {
      TAILOR_RETURN_IF_ERROR(constants.AddOutput(absl::StrCat(i), copies[roots_[i]]));
    }
    return constants;
  }

 private:
  struct State {
    bool fixed = false;       // the same in every run; for constants too
    bool needed = false;      // a root is computed from it
    double own_cycles = 0;    // cycles * elements
    double cycles = 0;        // on the costliest path to it
    double source_bytes = 0;  // of the largest constant that it is computed from
  };

  void Visit(NodeId id) {
    const Node& node = graph_.node(id);
    State& state = states_[id];
    if (node.op == OpKind::kConstant) {
      const ConstantData& data = graph_.constant_data(id);
      state.fixed = !data.declared_hash.has_value();
      state.source_bytes = static_cast<double>(data.size);
      return;
    }
    state.fixed = IsFixed(graph_, node) && std::all_of(node.operands.begin(), node.operands.end(),
                                                       [&](Value operand) { return states_[operand.node].fixed; });
    if (!state.fixed) {
      if (node.op == OpKind::kDot) MustBePacked(node.operands[1]);
      return;
    }
    for (Value operand : node.operands) {
      state.cycles = std::max(state.cycles, states_[operand.node].cycles);
      state.source_bytes = std::max(state.source_bytes, states_[operand.node].source_bytes);
    }
    state.own_cycles = Cycles(graph_, node);
    state.cycles += state.own_cycles;
  }

  // A computed rhs of a matmul would be computed and packed in each run, a constant is packed by the compiler. That is
  // worth folding the cheapest op, though not a view.
  void MustBePacked(Value rhs) {
    State& state = states_[rhs.node];
    if (!state.fixed || state.cycles == 0) return;
    const double enough = Elements(graph_.type(rhs)) * static_cast<double>(limits_.cycles_per_vector);
    const double missing = std::max(enough - state.cycles, 0.0);
    state.cycles += missing;
    state.own_cycles += missing;
  }

  bool Folds(NodeId id) const {
    const State& state = states_[id];
    if (!state.fixed || graph_.node(id).op == OpKind::kConstant) return false;
    const TensorType& type = graph_.node(id).results[0];
    const double elements = Elements(type);
    return elements > 0 && state.cycles >= elements * static_cast<double>(limits_.cycles_per_vector) &&
           elements * SizeOf(type.dtype) <= state.source_bytes + static_cast<double>(limits_.growth_bytes);
  }

  // Roots: folded values that outputs or other nodes read.
  void FindRoots() {
    std::vector<bool> read(states_.size());
    for (NodeId id = 0; id < static_cast<NodeId>(states_.size()); ++id) {
      if (Folds(id)) continue;
      for (Value operand : graph_.node(id).operands) read[operand.node] = true;
    }
    for (const Output& output : graph_.outputs()) read[output.value.node] = true;
    for (NodeId id = static_cast<NodeId>(states_.size()) - 1; id >= 0; --id) {
      if (read[id] && Folds(id)) {
        roots_.push_back(id);
        states_[id].needed = true;
      }
      if (!states_[id].needed) continue;
      for (Value operand : graph_.node(id).operands) states_[operand.node].needed = true;
    }
    std::reverse(roots_.begin(), roots_.end());
  }

  absl::StatusOr<Value> Copy(NodeId id, const std::vector<Value>& copies, Graph& to) const {
    const Node& node = graph_.node(id);
    Value copy;
    if (node.op == OpKind::kConstant) {
      TAILOR_ASSIGN_OR_RETURN(
          copy, to.AddConstant(node.string("name"), node.dtype("dtype"), node.dims("shape"), graph_.constant_data(id)));
    } else {
      std::vector<Value> operands;
      for (Value operand : node.operands) operands.push_back(copies[operand.node]);
      TAILOR_ASSIGN_OR_RETURN(copy.node, to.Append(node.op, operands, node.attributes));
    }
    to.SetNodeName(copy.node, node.name);
    return copy;
  }

  const Graph& graph_;
  const FoldLimits& limits_;
  std::vector<State> states_;  // by node
  std::vector<NodeId> roots_;  // ascending
};

}  // namespace

absl::StatusOr<Graph> FoldConstants(const Graph& graph, const EvaluateConstants& evaluate, const FoldLimits& limits) {
  const Folding folding(graph, limits);
  if (!folding.Pays()) return graph;
  TAILOR_ASSIGN_OR_RETURN(const Graph subgraph, folding.Subgraph());
  TAILOR_ASSIGN_OR_RETURN(std::vector<ConstantData> values, evaluate(subgraph));
  const std::vector<NodeId>& roots = folding.roots();
  const auto rewrite = [&](const NodeRewrite& r) -> absl::StatusOr<std::optional<Value>> {
    const auto root = std::lower_bound(roots.begin(), roots.end(), r.id);
    if (root == roots.end() || *root != r.id) return std::nullopt;
    const TensorType& type = r.node().results[0];
    TAILOR_ASSIGN_OR_RETURN(const Value constant, r.to.AddConstant(r.node().name, type.dtype, type.shape,
                                                                   std::move(values[root - roots.begin()])));
    r.to.SetNodeName(constant.node, r.node().name);
    return constant;
  };
  return RebuildGraph(graph, {.rewrite = rewrite});
}

}  // namespace tailor::driver
