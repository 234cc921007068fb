#include "fusion/simplify_views.h"

#include <algorithm>
#include <optional>

#include "analysis/known_values.h"
#include "fusion/graph_rebuild.h"
#include "fusion/node_class.h"
#include "graph/status_macros.h"

namespace tailor {
namespace {

bool SameShape(const ShapeFacts& facts, const Shape& a, const Shape& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](const DimExpr& x, const DimExpr& y) { return facts.ProvablyEqual(x, y); });
}

bool IsIdentity(const ShapeFacts& facts, const Node& node, const Shape& from) {
  if (!SameShape(facts, from, node.results[0].shape)) return false;
  switch (node.op) {
    case OpKind::kReshape:
    case OpKind::kBroadcast:
      return true;
    case OpKind::kTranspose: {
      const std::vector<int64_t>& permutation = node.i64s("permutation");
      return std::is_sorted(permutation.begin(), permutation.end());
    }
    case OpKind::kSlice: {
      const std::vector<int64_t>& steps = node.i64s("steps");
      const Shape& starts = node.dims("starts");
      return std::all_of(steps.begin(), steps.end(), [](int64_t step) { return step == 1; }) &&
             std::all_of(starts.begin(), starts.end(), [](const DimExpr& start) { return start == DimExpr(0); });
    }
    case OpKind::kPad: {
      const std::vector<int64_t>& interior = node.i64s("interior");
      const Shape& low = node.dims("low");  // equal shapes imply that `high` is zero too
      return std::all_of(interior.begin(), interior.end(), [](int64_t gap) { return gap == 0; }) &&
             std::all_of(low.begin(), low.end(), [](const DimExpr& before) { return before == DimExpr(0); });
    }
    case OpKind::kConcat:
      return node.operands.size() == 1;
    default:
      return IsReduction(node) && node.i64s("axes").empty();
  }
}

// A gather at one index as a slice, if the index is provably in range: a gather's is checked in its kernel.
absl::StatusOr<std::optional<Value>> SliceInPlace(const NodeRewrite& gather, const ShapeFacts& facts,
                                                  const DimExpr& index) {
  const Value x = gather.operands[0];
  Shape sizes = gather.to.type(x).shape;
  Shape starts(sizes.size(), DimExpr(0));
  const int64_t axis = gather.node().i64("axis");
  if (facts.RangeOf(index).min < 0 || facts.RangeOf(sizes[axis] - index - 1).min < 0) return std::nullopt;
  starts[axis] = index;
  sizes[axis] = 1;
  TAILOR_ASSIGN_OR_RETURN(const NodeId slice,
                          gather.to.Append(OpKind::kSlice, {x}, {{"starts", starts}, {"sizes", sizes}}));
  const Shape shape = gather.node().results[0].shape;
  TAILOR_ASSIGN_OR_RETURN(Value row, AppendInPlace(gather, OpKind::kReshape, {Value{slice, 0}}, {{"shape", shape}}));
  return row;
}

}  // namespace

absl::StatusOr<Graph> ComposeViews(const Graph& graph, const ShapeFacts& facts) {
  std::optional<KnownValues> known;  // made for the first gather
  auto rewrite = [&](const NodeRewrite& r) -> absl::StatusOr<std::optional<Value>> {
    OpKind op = r.node().op;
    if (op == OpKind::kGather) {
      if (!known) known.emplace(graph, KnownValues::Source{[](int) { return std::nullopt; }, DimExpr::Symbol});
      const std::optional<DimExpr>& index = known->of(r.node().operands[1]);
      return index ? SliceInPlace(r, facts, *index) : std::nullopt;
    }
    if (op != OpKind::kTranspose && op != OpKind::kReshape) return std::nullopt;
    const Node& inner = r.to.node(r.operands[0].node);
    if (inner.op != op) return std::nullopt;
    Attributes attributes = r.node().attributes;
    if (op == OpKind::kTranspose) {
      std::vector<int64_t> permutation;
      for (int64_t d : r.node().i64s("permutation")) permutation.push_back(inner.i64s("permutation")[d]);
      attributes["permutation"] = std::move(permutation);
    }
    std::vector<Value> operands = inner.operands;  // appending moves the nodes
    TAILOR_ASSIGN_OR_RETURN(Value composed, AppendInPlace(r, op, operands, std::move(attributes)));
    return composed;
  };
  return RebuildGraph(graph, {.rewrite = rewrite});
}

absl::StatusOr<Graph> RemoveIdentityViews(const Graph& graph, const ShapeFacts& facts) {
  auto rewrite = [&](const NodeRewrite& r) -> absl::StatusOr<std::optional<Value>> {
    if (r.operands.empty() || r.node().results.size() != 1) return std::nullopt;
    if (!IsIdentity(facts, r.node(), r.to.type(r.operands[0]).shape)) return std::nullopt;
    return r.operands[0];
  };
  return RebuildGraph(graph, {.rewrite = rewrite});
}

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
