#include "fusion/reshape_constants.h"

#include <algorithm>

#include "fusion/graph_rebuild.h"
#include "graph/status_macros.h"

namespace tailor {

absl::StatusOr<Graph> ReshapeConstants(const Graph& graph, const ShapeFacts& facts) {
  auto rewrite = [&](const NodeRewrite& r) -> absl::StatusOr<std::optional<Value>> {
    if (r.node().op != OpKind::kReshape) return std::nullopt;
    NodeId operand = r.operands[0].node;
    if (r.to.node(operand).op != OpKind::kConstant) return std::nullopt;
    const TensorType& type = r.node().results[0];
    bool fixed = std::all_of(type.shape.begin(), type.shape.end(),
                             [](const DimExpr& dim_size) { return dim_size.constant().has_value(); });
    if (!fixed) return std::nullopt;
    const std::string name = r.to.node(operand).string("name");
    const ConstantData data = r.to.constant_data(operand);
    TAILOR_ASSIGN_OR_RETURN(Value constant, r.to.AddConstant(name, type.dtype, type.shape, data));
    r.to.SetNodeName(constant.node, r.node().name);
    return constant;
  };
  return RebuildGraph(graph, {.rewrite = rewrite});
}

}  // namespace tailor
