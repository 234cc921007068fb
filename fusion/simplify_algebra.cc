#include "fusion/simplify_algebra.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

#include "fusion/graph_rebuild.h"
#include "fusion/node_class.h"
#include "graph/element.h"
#include "graph/status_macros.h"

namespace tailor {
namespace {

// Whether `v` is a one-element constant with exactly the bits of `value` (so 0.0 is not -0.0).
bool IsConstant(const Graph& graph, Value v, double value) {
  const Node& node = graph.node(v.node);
  if (node.op != OpKind::kConstant || ElementCount(graph.type(v).shape).constant() != 1) return false;
  const ConstantData& data = graph.constant_data(v.node);
  if (data.declared_hash) return false;
  DType dtype = graph.type(v).dtype;
  uint64_t expected = 0;
  ElementFromDouble(dtype, value, &expected);
  return std::memcmp(&expected, data.data, SizeOf(dtype)) == 0;
}

// Whether `rhs` is the neutral 1 or 0 of `op`. IEEE 754: x + 0.0 turns -0.0 into 0.0, but x - 0.0 and x + -0.0 are
// exact.
bool RightIsNeutral(const Graph& graph, OpKind op, Value rhs) {
  bool is_float = IsFloat(graph.type(rhs).dtype);
  switch (op) {
    case OpKind::kAdd:
      return IsConstant(graph, rhs, is_float ? -0.0 : 0.0);
    case OpKind::kSub:
      return IsConstant(graph, rhs, 0.0);
    case OpKind::kMul:
    case OpKind::kDiv:
    case OpKind::kPow:
      return IsConstant(graph, rhs, 1.0);
    default:
      return false;
  }
}

// The operand that equals the node's result, if there is one.
std::optional<Value> EqualOperand(const NodeRewrite& r) {
  const Node& node = r.node();
  if (node.op == OpKind::kCast && r.to.type(r.operands[0]).dtype == node.dtype("dtype")) return r.operands[0];
  if (node.operands.size() != 2) return std::nullopt;
  if (RightIsNeutral(r.to, node.op, r.operands[1])) return r.operands[0];
  bool commutes = node.op == OpKind::kAdd || node.op == OpKind::kMul;
  if (commutes && RightIsNeutral(r.to, node.op, r.operands[0])) return r.operands[1];
  return std::nullopt;
}

// Whether reducing one dim after the other gives the result of reducing all: within rounding for sums, which narrow
// types would round in between.
bool IsSeparable(const Node& node) {
  if (node.op == OpKind::kReduceMax || node.op == OpKind::kReduceMin) return true;
  const DType dtype = node.results[0].dtype;
  const bool rounds_once = dtype == DType::kF32 || dtype == DType::kF64;
  return (node.op == OpKind::kReduceSum || node.op == OpKind::kReduceMean) && rounds_once;
}

// Whether windows of padded `x` along each dim may be reduced before the next dim is padded: padding all dims first
// adds rows of padding only, whose sum must be 0.
bool PadsByDim(const Graph& graph, OpKind op, Value x) {
  const Node& pad = graph.node(x.node);
  if (pad.op != OpKind::kPad) return false;
  const std::vector<int64_t>& interior = pad.i64s("interior");
  if (std::any_of(interior.begin(), interior.end(), [](int64_t gap) { return gap != 0; })) return false;
  return op != OpKind::kReduceSum || IsConstant(graph, pad.operands[1], 0);
}

// `x` padded like `pad` along one axis.
absl::StatusOr<Value> PaddedAlong(Graph& graph, const Node& pad, int64_t axis, Value x) {
  Shape low(pad.dims("low").size(), 0), high = low;
  low[axis] = pad.dims("low")[axis];
  high[axis] = pad.dims("high")[axis];
  if (low[axis] == DimExpr(0) && high[axis] == DimExpr(0)) return x;
  TAILOR_ASSIGN_OR_RETURN(const NodeId padded,
                          graph.Append(OpKind::kPad, {x, pad.operands[1]}, {{"low", low}, {"high", high}}));
  return Value{padded, 0};
}

// Rewrites pooling by a x b windows as two passes, of a x 1 and 1 x b windows: a + b elements per result instead of
// a * b, for one more intermediate. Any number of dims.
absl::StatusOr<std::optional<Value>> SeparatedPool(const NodeRewrite& r) {
  const Node& node = r.node();
  if (!IsSeparable(node) || node.i64("keep_dims") != 0) return std::nullopt;
  const Node windows = r.to.node(r.operands[0].node);
  if (windows.op != OpKind::kWindow) return std::nullopt;
  const Shape& sizes = windows.dims("sizes");
  const size_t count = sizes.size(), rank = windows.results[0].shape.size();
  std::vector<int64_t> inner(count);
  std::iota(inner.begin(), inner.end(), static_cast<int64_t>(rank - count));
  const std::optional<int64_t> elements = ElementCount(sizes).constant();
  if (node.i64s("axes") != inner || !elements) return std::nullopt;

  const std::vector<int64_t>&axes = windows.i64s("axes"), &strides = windows.i64s("strides"),
        &dilations = windows.i64s("dilations");
  const auto at = [](const std::vector<int64_t>& list, size_t i) { return list.empty() ? 1 : list[i]; };
  std::vector<size_t> passes;  // the windows that are more than a copy
  for (size_t i = 0; i < count; ++i) {
    if (sizes[i] != DimExpr(1) || at(strides, i) != 1) passes.push_back(i);
  }
  // Elements that all passes read per result. A pass makes more results than there are, where later ones have strides.
  // What it writes and the next one reads takes as long as about twice the elements of its windows.
  double separated = 0, results = 1;
  for (auto pass = passes.rbegin(); pass != passes.rend(); ++pass) {
    separated += results * static_cast<double>(*sizes[*pass].constant());
    results *= static_cast<double>(at(strides, *pass));
  }
  if (3 * separated >= static_cast<double>(*elements)) return std::nullopt;

  Value x = windows.operands[0];
  std::optional<Node> pad;
  if (PadsByDim(r.to, node.op, x)) pad = r.to.node(x.node);
  const int64_t x_rank = static_cast<int64_t>(rank - count);
  if (pad) {
    x = pad->operands[0];
    for (int64_t axis = 0; axis < x_rank; ++axis) {
      const bool later = std::any_of(passes.begin(), passes.end(), [&](size_t pass) { return axes[pass] == axis; });
      if (later) continue;
      TAILOR_ASSIGN_OR_RETURN(x, PaddedAlong(r.to, *pad, axis, x));
    }
  }
  const Attributes reduce{{"axes", std::vector<int64_t>{x_rank}}, {"keep_dims", int64_t{0}}};
  for (const size_t i : passes) {
    if (pad) {
      TAILOR_ASSIGN_OR_RETURN(x, PaddedAlong(r.to, *pad, axes[i], x));
    }
    TAILOR_ASSIGN_OR_RETURN(const NodeId taken, r.to.Append(OpKind::kWindow, {x},
                                                            {{"axes", std::vector<int64_t>{axes[i]}},
                                                             {"sizes", Shape{sizes[i]}},
                                                             {"strides", std::vector<int64_t>{at(strides, i)}},
                                                             {"dilations", std::vector<int64_t>{at(dilations, i)}}}));
    if (i == passes.back()) {
      TAILOR_ASSIGN_OR_RETURN(x, AppendInPlace(r, node.op, {Value{taken, 0}}, reduce));
    } else {
      TAILOR_ASSIGN_OR_RETURN(const NodeId found, r.to.Append(node.op, {Value{taken, 0}}, reduce));
      x = {found, 0};
    }
  }
  return x;
}

// The operand of `v`, a product with a constant of one element, that is the constant; -1: `v` is no such product.
int ScaleOf(const Graph& graph, Value v) {
  const Node& node = graph.node(v.node);
  if (node.op != OpKind::kMul) return -1;
  for (int i = 0; i < 2; ++i) {
    const Value scale = node.operands[i];
    const bool is_scalar = graph.node(scale.node).op == OpKind::kConstant &&
                           ElementCount(graph.type(scale).shape).constant() == 1 &&
                           graph.type(node.operands[1 - i]) == node.results[0];
    if (is_scalar) return i;
  }
  return -1;
}

bool KeepsRange(const Graph& graph, Value scale) {
  const ConstantData& data = graph.constant_data(scale.node);
  const DType dtype = graph.type(scale).dtype;
  if (data.declared_hash || !IsFloat(dtype) || dtype == DType::kF16) return false;
  const double magnitude = std::abs(ElementToDouble(dtype, data.data));
  return magnitude <= 1 && magnitude >= 0x1p-20;
}

// The number that a constant of one element is.
std::optional<double> NumberOf(const Graph& graph, Value v) {
  const DType dtype = graph.type(v).dtype;
  if (graph.node(v.node).op != OpKind::kConstant || ElementCount(graph.type(v).shape).constant() != 1) {
    return std::nullopt;
  }
  const ConstantData& data = graph.constant_data(v.node);
  if (data.declared_hash || (dtype != DType::kF32 && dtype != DType::kI32)) return std::nullopt;
  return ElementToDouble(dtype, data.data);
}

// The operands of `op` if `v` is its result of type `dtype`: a tensor of the type of `v`, and a number.
struct WithNumber {
  Value tensor;
  double number;
};
std::optional<WithNumber> WithNumberOf(const Graph& graph, Value v, OpKind op, DType dtype) {
  const Node& node = graph.node(v.node);
  if (node.op != op || graph.type(v).dtype != dtype) return std::nullopt;
  const bool commutes = op == OpKind::kAdd || op == OpKind::kMul;
  for (const int i : {1, 0}) {
    const auto number = NumberOf(graph, node.operands[i]);
    const Value tensor = node.operands[1 - i];
    if (number && graph.type(tensor) == graph.type(v)) return WithNumber{tensor, *number};
    if (!commutes) break;
  }
  return std::nullopt;
}

bool MovesElements(OpKind op) {
  return op == OpKind::kReshape || op == OpKind::kTranspose || op == OpKind::kBroadcast || op == OpKind::kSlice;
}

// A quantized tensor, and how it was quantized.
struct Quantized {
  Value tensor;
  double scale, zero;
};

// If a cast of `x` to integers quantizes a tensor: that tensor, an f32.
std::optional<Quantized> QuantizedBy(const Graph& graph, Value x) {
  const auto shifted = WithNumberOf(graph, x, OpKind::kAdd, DType::kF32);
  const Node& round = graph.node((shifted ? shifted->tensor : x).node);
  if (round.op != OpKind::kRound) return std::nullopt;
  const auto scaled = WithNumberOf(graph, round.operands[0], OpKind::kDiv, DType::kF32);
  if (!scaled) return std::nullopt;
  return Quantized{scaled->tensor, scaled->number, shifted ? shifted->number : 0};
}

// If `x` is a dequantized tensor: the tensor of integers.
std::optional<Quantized> DequantizedFrom(const Graph& graph, Value x) {
  const auto scaled = WithNumberOf(graph, x, OpKind::kMul, DType::kF32);
  if (!scaled || graph.node(scaled->tensor.node).op != OpKind::kCast) return std::nullopt;
  const Value difference = graph.node(scaled->tensor.node).operands[0];
  const auto shifted = WithNumberOf(graph, difference, OpKind::kSub, DType::kI32);
  const Value integer = shifted ? shifted->tensor : difference;
  const Node& widened = graph.node(integer.node);
  const bool is_widened = widened.op == OpKind::kCast && graph.type(integer).dtype == DType::kI32;
  return Quantized{is_widened ? widened.operands[0] : integer, scaled->number, shifted ? shifted->number : 0};
}

}  // namespace

absl::StatusOr<Graph> QuantizeOnce(const Graph& graph, const ShapeFacts&) {
  const auto rewrite = [&](const NodeRewrite& r) -> absl::StatusOr<std::optional<Value>> {
    if (r.node().op != OpKind::kCast) return std::nullopt;
    const DType dtype = r.node().dtype("dtype");
    const auto quantized = QuantizedBy(r.to, r.operands[0]);
    if (!quantized || !IsInteger(dtype) || SizeOf(dtype) > 2) return std::nullopt;
    std::vector<Value> moves;  // last first
    Value x = quantized->tensor;
    for (; MovesElements(r.to.node(x.node).op); x = r.to.node(x.node).operands[0]) moves.push_back(x);
    const auto source = DequantizedFrom(r.to, x);
    const double scale = std::fabs(quantized->scale);
    const bool is_exact = scale >= 0x1p-100 && scale <= 0x1p100 && std::fabs(quantized->zero) <= 0x1p16;
    const bool same = source && source->scale == quantized->scale && source->zero == quantized->zero &&
                      r.to.type(source->tensor).dtype == dtype && is_exact;
    if (!same) return std::nullopt;
    Value integers = source->tensor;
    for (auto move = moves.rbegin(); move != moves.rend(); ++move) {
      const Node node = r.to.node(move->node);
      TAILOR_ASSIGN_OR_RETURN(const NodeId moved, r.to.Append(node.op, {integers}, node.attributes));
      integers = {moved, 0};
    }
    return integers;
  };
  return RebuildGraph(graph, {.rewrite = rewrite});
}

absl::StatusOr<Graph> ScaleOneOperand(const Graph& graph, const ShapeFacts&) {
  std::vector<int> readers(graph.nodes().size());
  for (const Node& node : graph.nodes()) {
    for (Value operand : node.operands) ++readers[operand.node];
  }
  for (const Output& output : graph.outputs()) ++readers[output.value.node];
  const auto rewrite = [&](const NodeRewrite& r) -> absl::StatusOr<std::optional<Value>> {
    if (r.node().op != OpKind::kDot || readers[r.node().operands[1].node] != 1) return std::nullopt;
    const Value lhs = r.operands[0], rhs = r.operands[1];
    const int of_rhs = ScaleOf(r.to, rhs);
    if (ScaleOf(r.to, lhs) < 0 || of_rhs < 0) return std::nullopt;
    const std::vector<Value> factors = r.to.node(rhs.node).operands;
    const bool fits = r.to.type(factors[of_rhs]).rank() <= r.to.type(lhs).rank();
    if (!fits || !KeepsRange(r.to, factors[of_rhs])) return std::nullopt;
    TAILOR_ASSIGN_OR_RETURN(const NodeId scaled, r.to.Append(OpKind::kMul, {lhs, factors[of_rhs]}));
    TAILOR_ASSIGN_OR_RETURN(const Value product, AppendInPlace(r, OpKind::kDot, {Value{scaled, 0}, factors[1 - of_rhs]},
                                                               r.node().attributes));
    return product;
  };
  return RebuildGraph(graph, {.rewrite = rewrite});
}

absl::StatusOr<Graph> SimplifyAlgebra(const Graph& graph, const ShapeFacts& facts) {
  auto rewrite = [&](const NodeRewrite& r) -> absl::StatusOr<std::optional<Value>> {
    const Node& node = r.node();
    if (r.operands.empty() || node.results.size() != 1) return std::nullopt;
    TAILOR_ASSIGN_OR_RETURN(const std::optional<Value> pool, SeparatedPool(r));
    if (pool) return pool;
    std::optional<Value> equal = EqualOperand(r);
    if (equal && r.to.type(*equal) == node.results[0]) return equal;
    bool square =
        node.op == OpKind::kPow && IsConstant(r.to, r.operands[1], 2.0) && r.to.type(r.operands[0]) == node.results[0];
    if (!square) return std::nullopt;
    TAILOR_ASSIGN_OR_RETURN(Value v, AppendInPlace(r, OpKind::kMul, {r.operands[0], r.operands[0]}, {}));
    return v;
  };
  return RebuildGraph(graph, {.rewrite = rewrite});
}

}  // namespace tailor
