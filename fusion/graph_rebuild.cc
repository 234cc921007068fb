#include "fusion/graph_rebuild.h"

#include <cassert>

#include "graph/status_macros.h"

namespace tailor {
namespace {

struct Rebuilder {
  const Graph& from;
  const RebuildOptions& options;
  Graph to;
  std::vector<Value> replaced;  // per node: the value that replaces its only result, if it was not copied
  std::vector<NodeId> copied;   // per node: its copy

  Value Map(Value v) const {
    if (replaced[v.node].node >= 0) return replaced[v.node];
    assert(copied[v.node] >= 0 && "a dropped node is used");
    return {copied[v.node], v.result};
  }

  Shape Settle(Shape shape) const {
    if (!options.map_dim) return shape;
    for (DimExpr& dim : shape) dim = options.map_dim(dim);
    return shape;
  }

  absl::Status CopySignature() {
    for (SymbolId id = 0; id < static_cast<SymbolId>(from.symbols().size()); ++id) {
      const auto& settle = options.map_symbol;
      TAILOR_RETURN_IF_ERROR(to.AddSymbol(settle ? settle(id) : from.symbol(id)).status());
    }
    for (const Assumption& assumption : from.assumptions()) TAILOR_RETURN_IF_ERROR(to.Assume(assumption));
    return absl::OkStatus();
  }

  absl::StatusOr<NodeId> CopyNode(NodeId id, absl::Span<const Value> operands) {
    const Node& node = from.node(id);
    if (node.op == OpKind::kInput) {
      TAILOR_ASSIGN_OR_RETURN(Value v,
                              to.AddInput(node.string("name"), node.dtype("dtype"), Settle(node.dims("shape"))));
      return v.node;
    }
    if (node.op == OpKind::kConstant) {
      TAILOR_ASSIGN_OR_RETURN(Value v, to.AddConstant(node.string("name"), node.dtype("dtype"), node.dims("shape"),
                                                      from.constant_data(id)));
      return v.node;
    }
    Attributes attributes = node.attributes;
    for (auto& [name, attribute] : attributes) {
      if (auto* dims = std::get_if<Shape>(&attribute)) *dims = Settle(*dims);
    }
    return to.Append(node.op, operands, std::move(attributes), node.regions);
  }

  absl::Status Visit(NodeId id) {
    const Node& node = from.node(id);
    const NodeRewriter& rewrite = node.op == OpKind::kInput ? options.rewrite_input : options.rewrite;
    std::vector<Value> operands;
    for (Value operand : node.operands) {
      bool dropped = replaced[operand.node].node < 0 && copied[operand.node] < 0;
      operands.push_back(dropped ? Value{} : Map(operand));
    }
    if (rewrite) {
      TAILOR_ASSIGN_OR_RETURN(std::optional<Value> value, rewrite(NodeRewrite{from, id, operands, to}));
      if (value.has_value()) {
        replaced[id] = *value;
        return absl::OkStatus();
      }
    }
    TAILOR_ASSIGN_OR_RETURN(copied[id], CopyNode(id, operands));
    to.SetNodeName(copied[id], node.name);
    return absl::OkStatus();
  }

  absl::StatusOr<Graph> Run() {
    TAILOR_RETURN_IF_ERROR(CopySignature());
    for (NodeId id = 0; id < static_cast<NodeId>(from.nodes().size()); ++id) TAILOR_RETURN_IF_ERROR(Visit(id));
    std::vector<Output> outputs;
    for (const Output& output : from.outputs()) outputs.push_back({output.name, Map(output.value)});
    if (options.add_outputs) {
      TAILOR_RETURN_IF_ERROR(options.add_outputs(to, outputs));
      return std::move(to);
    }
    for (const Output& output : outputs) TAILOR_RETURN_IF_ERROR(to.AddOutput(output.name, output.value));
    return std::move(to);
  }
};

}  // namespace

absl::StatusOr<Graph> RebuildGraph(const Graph& graph, const RebuildOptions& options) {
  size_t count = graph.nodes().size();
  return Rebuilder{graph, options, Graph(graph.name()), std::vector<Value>(count), std::vector<NodeId>(count, -1)}
      .Run();
}

absl::StatusOr<Value> AppendInPlace(const NodeRewrite& rewrite, OpKind op, absl::Span<const Value> operands,
                                    Attributes attributes) {
  TAILOR_ASSIGN_OR_RETURN(NodeId id, rewrite.to.Append(op, operands, std::move(attributes)));
  rewrite.to.SetNodeName(id, rewrite.node().name);
  return Value{id, 0};
}

}  // namespace tailor
