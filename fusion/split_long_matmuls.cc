#include "fusion/split_long_matmuls.h"

#include <optional>

#include "fusion/graph_rebuild.h"
#include "graph/status_macros.h"

namespace tailor {
namespace {

// The number of parts of K; 1: not split.
int64_t PartsOf(const Graph& graph, const Node& node) {
  constexpr int64_t kLongDepth = 8192, kMostDepth = 4096, kLeastDepth = 1024, kMostColumns = 256;
  if (node.op != OpKind::kDot) return 1;
  const DType dtype = node.results[0].dtype;
  if (dtype != DType::kF32 && dtype != DType::kF64) return 1;
  const Shape &lhs = graph.type(node.operands[0]).shape, &rhs = graph.type(node.operands[1]).shape;
  if (lhs.size() != 2 || rhs.size() != 2 || node.i64("transpose_lhs") != 0 || node.i64("transpose_rhs") != 0) {
    return 1;
  }
  const std::optional<int64_t> depth = lhs[1].constant(), columns = node.results[0].shape[1].constant();
  if (!depth || !rhs[0].constant() || !columns || *depth < kLongDepth || *columns > kMostColumns) return 1;
  for (int64_t parts = (*depth + kMostDepth - 1) / kMostDepth; parts <= *depth / kLeastDepth; ++parts) {
    if (*depth % parts == 0) return parts;
  }
  return 1;
}

absl::StatusOr<Value> Append(const NodeRewrite& r, OpKind op, absl::Span<const Value> operands, Attributes attributes) {
  TAILOR_ASSIGN_OR_RETURN(NodeId id, r.to.Append(op, operands, std::move(attributes)));
  return Value{id, 0};
}

absl::StatusOr<std::optional<Value>> Split(const NodeRewrite& r) {
  const int64_t parts = PartsOf(r.from, r.node());
  if (parts == 1) return std::nullopt;
  const Shape lhs = r.to.type(r.operands[0]).shape, rhs = r.to.type(r.operands[1]).shape;
  const DimExpr depth = *lhs[1].constant() / parts;
  TAILOR_ASSIGN_OR_RETURN(Value rows,
                          Append(r, OpKind::kReshape, {r.operands[0]}, {{"shape", Shape{lhs[0], parts, depth}}}));
  TAILOR_ASSIGN_OR_RETURN(rows,
                          Append(r, OpKind::kTranspose, {rows}, {{"permutation", std::vector<int64_t>{1, 0, 2}}}));
  TAILOR_ASSIGN_OR_RETURN(Value columns,
                          Append(r, OpKind::kReshape, {r.operands[1]}, {{"shape", Shape{parts, depth, rhs[1]}}}));
  TAILOR_ASSIGN_OR_RETURN(Value matmuls, Append(r, OpKind::kDot, {rows, columns}, r.node().attributes));
  TAILOR_ASSIGN_OR_RETURN(Value sum, AppendInPlace(r, OpKind::kReduceSum, {matmuls},
                                                   {{"axes", std::vector<int64_t>{0}}, {"keep_dims", int64_t{0}}}));
  return sum;
}

}  // namespace

absl::StatusOr<Graph> SplitLongMatmuls(const Graph& graph, const ShapeFacts&) {
  return RebuildGraph(graph, {.rewrite = Split});
}

}  // namespace tailor
