// Rebuilds a graph node by node; the basis of every rewrite.
#ifndef TAILOR_FUSION_GRAPH_REBUILD_H_
#define TAILOR_FUSION_GRAPH_REBUILD_H_

#include <functional>
#include <optional>

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace tailor {

// The input of a NodeRewriter: node `id` of `from`, and the values of `to` that are its operands.
struct NodeRewrite {
  const Graph& from;
  NodeId id;
  absl::Span<const Value> operands;
  Graph& to;

  const Node& node() const { return from.node(id); }
};

// Returns the value of `to` that replaces the node's result, Value{} to drop an unused node, or nullopt to copy the
// node.
using NodeRewriter = std::function<absl::StatusOr<std::optional<Value>>(const NodeRewrite&)>;

struct RebuildOptions {
  NodeRewriter rewrite;                            // absent: every node is copied; not asked for inputs
  NodeRewriter rewrite_input;                      // the same for inputs; it adds the input that takes their place
  std::function<DimExpr(const DimExpr&)> map_dim;  // absent: dims stay
  std::function<SymbolInfo(SymbolId)> map_symbol;  // absent: symbols stay
  // Adds the outputs to `to`; `outputs` hold values of `to`. Absent: outputs stay unchanged.
  std::function<absl::Status(Graph& to, absl::Span<const Output> outputs)> add_outputs;
};

// A new graph with the name, symbols, assumptions, inputs, output names and node names of `graph`.
absl::StatusOr<Graph> RebuildGraph(const Graph& graph, const RebuildOptions& options);

// Appends `op` to rewrite.to under the name of the node that it replaces.
absl::StatusOr<Value> AppendInPlace(const NodeRewrite& rewrite, OpKind op, absl::Span<const Value> operands,
                                    Attributes attributes);

}  // namespace tailor

#endif  // TAILOR_FUSION_GRAPH_REBUILD_H_
