#include "graph/builders.h"

#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/formula.h"
#include "graph/status_macros.h"

namespace tailor {
namespace {

// x minus its maximum along `axis`.
Value Shifted(Formula& f, Value x, int64_t axis) {
  return f.Apply(OpKind::kSub, {x, f.Reduce(OpKind::kReduceMax, x, axis)});
}

// Checks that operand `name` has x's dtype, for formulas that compute in a wider type. `operand` may be absent.
absl::Status CheckTypeOfX(const Graph& graph, absl::string_view builder, absl::string_view name, Value operand,
                          Value x) {
  if (operand.node < 0) return absl::OkStatus();
  TAILOR_RETURN_IF_ERROR(CheckValue(graph, builder, name, operand));
  const DType dtype = graph.type(operand).dtype, wanted = graph.type(x).dtype;
  if (dtype == wanted) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(builder, ": operand \"", name, "\" (", graph.NameOf(operand),
                                                 ") has type ", NameOf(dtype), ", but operand \"x\" (", graph.NameOf(x),
                                                 ") has type ", NameOf(wanted)));
}

}  // namespace

absl::StatusOr<Value> Softmax(Graph& graph, Value x, int64_t axis) {
  TAILOR_RETURN_IF_ERROR(CheckValue(graph, "softmax", "x", x));
  Formula f(&graph);
  Value e = f.Apply(OpKind::kExp, {Shifted(f, f.Wide(x), axis)});
  return f.Finish(f.Narrow(f.Apply(OpKind::kDiv, {e, f.Reduce(OpKind::kReduceSum, e, axis)}), x));
}

absl::StatusOr<Value> LogSoftmax(Graph& graph, Value x, int64_t axis) {
  TAILOR_RETURN_IF_ERROR(CheckValue(graph, "log_softmax", "x", x));
  Formula f(&graph);
  Value shifted = Shifted(f, f.Wide(x), axis);
  Value sum = f.Reduce(OpKind::kReduceSum, f.Apply(OpKind::kExp, {shifted}), axis);
  return f.Finish(f.Narrow(f.Apply(OpKind::kSub, {shifted, f.Apply(OpKind::kLog, {sum})}), x));
}

absl::StatusOr<Value> LayerNorm(Graph& graph, Value x, Value scale, Value bias, double epsilon) {
  TAILOR_RETURN_IF_ERROR(CheckValue(graph, "layer_norm", "x", x));
  TAILOR_RETURN_IF_ERROR(CheckTypeOfX(graph, "layer_norm", "scale", scale, x));
  TAILOR_RETURN_IF_ERROR(CheckTypeOfX(graph, "layer_norm", "bias", bias, x));
  Formula f(&graph);
  Value wide = f.Wide(x);
  Value centered = f.Apply(OpKind::kSub, {wide, f.Reduce(OpKind::kReduceMean, wide, -1)});
  Value square = f.Apply(OpKind::kMul, {centered, centered});
  Value variance = f.Reduce(OpKind::kReduceMean, square, -1);
  Value stable = f.Apply(OpKind::kAdd, {variance, f.Scalar(wide, epsilon)});
  Value y = f.Apply(OpKind::kMul, {centered, f.Apply(OpKind::kRsqrt, {stable})});
  if (scale.node >= 0) y = f.Apply(OpKind::kMul, {y, f.Wide(scale)});
  if (bias.node >= 0) y = f.Apply(OpKind::kAdd, {y, f.Wide(bias)});
  return f.Finish(f.Narrow(y, x));
}

absl::StatusOr<Value> GeluErf(Graph& graph, Value x) {
  TAILOR_RETURN_IF_ERROR(CheckValue(graph, "gelu_erf", "x", x));
  Formula f(&graph);
  Value erf = f.Apply(OpKind::kErf, {f.Scale(x, std::sqrt(0.5))});
  Value weight = f.Apply(OpKind::kAdd, {erf, f.Scalar(x, 1)});
  return f.Finish(f.Apply(OpKind::kMul, {f.Scale(x, 0.5), weight}));
}

absl::StatusOr<Value> GeluTanh(Graph& graph, Value x) {
  TAILOR_RETURN_IF_ERROR(CheckValue(graph, "gelu_tanh", "x", x));
  constexpr double kSqrtTwoOverPi = 0.79788456080286535588;
  Formula f(&graph);
  Value cube = f.Apply(OpKind::kMul, {f.Apply(OpKind::kMul, {x, x}), x});
  Value inner = f.Apply(OpKind::kAdd, {x, f.Scale(cube, 0.044715)});
  Value tanh = f.Apply(OpKind::kTanh, {f.Scale(inner, kSqrtTwoOverPi)});
  Value weight = f.Apply(OpKind::kAdd, {tanh, f.Scalar(x, 1)});
  return f.Finish(f.Apply(OpKind::kMul, {f.Scale(x, 0.5), weight}));
}

absl::StatusOr<Value> L2Normalize(Graph& graph, Value x, int64_t axis, double epsilon) {
  TAILOR_RETURN_IF_ERROR(CheckValue(graph, "l2_normalize", "x", x));
  Formula f(&graph);
  Value wide = f.Wide(x);
  Value sum = f.Reduce(OpKind::kReduceSum, f.Apply(OpKind::kMul, {wide, wide}), axis);
  Value norm = f.Apply(OpKind::kMax, {f.Apply(OpKind::kSqrt, {sum}), f.Scalar(wide, epsilon)});
  return f.Finish(f.Narrow(f.Apply(OpKind::kDiv, {wide, norm}), x));
}

absl::StatusOr<Value> Attention(Graph& graph, Value query, Value key, Value value, Value mask, double scale) {
  TAILOR_RETURN_IF_ERROR(CheckValue(graph, "attention", "query", query));
  if (scale == 0) {
    const Shape& shape = graph.type(query).shape;
    std::optional<int64_t> depth = shape.empty() ? std::nullopt : shape.back().constant();
    if (!depth || *depth < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("attention: the last dim size of operand \"query\" (", graph.NameOf(query), ") of type ",
                       graph.TypeText(graph.type(query)), " must be a positive constant when no scale is given"));
    }
    scale = 1 / std::sqrt(static_cast<double>(*depth));
  }
  Formula f(&graph);
  Value scores = f.Apply(OpKind::kDot, {query, key}, {{"transpose_rhs", int64_t{1}}});
  scores = f.Scale(scores, scale);
  if (mask.node >= 0) scores = f.Apply(OpKind::kAdd, {scores, mask});
  TAILOR_ASSIGN_OR_RETURN(scores, f.Finish(scores));
  TAILOR_ASSIGN_OR_RETURN(Value weights, Softmax(graph, scores, -1));
  return f.Finish(f.Apply(OpKind::kDot, {weights, value}));
}

}  // namespace tailor
