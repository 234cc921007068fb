#include "fusion/lhs_views.h"

#include <algorithm>

#include "analysis/reshape_groups.h"
#include "fusion/operand_map.h"

namespace tailor {
namespace {

// A reshape that joins operand dims divides the result's index, which must then depend on one kind only.
std::optional<Dependences> ThroughReshape(const FusionContext& context, const Node& node, const Dependences& of) {
  const Shape &operand = context.graph.type(node.operands[0]).shape, &result = node.results[0].shape;
  Dependences through(operand.size(), kOnNothing);
  for (const ReshapeGroup& group : MatchReshape(operand, result, context.facts)) {
    uint8_t all = kOnNothing;
    for (int d = group.to_begin; d < group.to_end; ++d) all |= of[d];
    int parts = 0;
    for (int d = group.from_begin; d < group.from_end; ++d) {
      if (ProvablyOne(context.facts, operand[d])) continue;
      through[d] = all;
      ++parts;
    }
    const bool of_one_kind = (all & (all - 1)) == 0;
    if (parts > 1 && !of_one_kind) return std::nullopt;
  }
  return through;
}

}  // namespace

Dependences OfLhs(const Graph& graph, NodeId matmul) {
  const Node& dot = graph.node(matmul);
  Dependences of(graph.type(dot.operands[0]).shape.size(), kOnBatch);
  const size_t rows = of.size() - (dot.i64("transpose_lhs") != 0 ? 1 : 2);
  const size_t depth = 2 * of.size() - 3 - rows;
  of[rows] = kOnRows;
  of[depth] = kOnDepth;
  return of;
}

std::optional<Dependences> ThroughView(const FusionContext& context, NodeId id, const Dependences& of) {
  const Node& node = context.graph.node(id);
  const size_t rank = node.operands.empty() ? 0 : context.graph.type(node.operands[0]).shape.size();
  switch (node.op) {
    case OpKind::kTranspose: {
      Dependences through(rank);
      for (size_t i = 0; i < rank; ++i) through[node.i64s("permutation")[i]] = of[i];
      return through;
    }
    case OpKind::kBroadcast:
      return Dependences(of.end() - rank, of.end());
    case OpKind::kSlice:
      return of;
    case OpKind::kWindow: {
      Dependences through(of.begin(), of.begin() + rank);
      const std::vector<int64_t>& axes = node.i64s("axes");
      for (size_t i = 0; i < axes.size(); ++i) through[axes[i]] |= of[rank + i];
      return through;
    }
    case OpKind::kReshape:
      return ThroughReshape(context, node, of);
    default:
      return std::nullopt;
  }
}

NodeId PaddingOfLhs(const FusionContext& context, const Uses& uses, const std::vector<NodeId>& core, NodeId matmul) {
  NodeId id = context.graph.node(matmul).operands[0].node;
  std::optional<Dependences> of = OfLhs(context.graph, matmul);
  while (of && uses.floating(id)) {
    of = ThroughView(context, id, *of);
    id = context.graph.node(id).operands.empty() ? -1 : context.graph.node(id).operands[0].node;
  }
  if (!of || context.graph.node(id).op != OpKind::kPad || !std::binary_search(core.begin(), core.end(), id)) return -1;
  const bool alone = !uses.stored(id) && uses.readers(id) == std::vector<NodeId>{matmul};
  const std::vector<NodeId>& users = uses.users(id);
  const bool reads_rhs = std::any_of(users.begin(), users.end(), [&](NodeId user) {
    return user == matmul && context.graph.node(matmul).operands[1].node == id;
  });
  return alone && !reads_rhs ? id : -1;
}

}  // namespace tailor
