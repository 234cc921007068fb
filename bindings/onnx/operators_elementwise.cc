// Operators that treat each element alone; those of activations are in operators_activation.cc.
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <string>

#include "bindings/frontend/error.h"
#include "bindings/frontend/narrow.h"
#include "bindings/onnx/data_types.h"
#include "bindings/onnx/log1p.h"
#include "bindings/onnx/node.h"
#include "bindings/onnx/operators.h"

namespace tailor::onnx {

// log(u) * x / (u - 1), where u is 1 + x rounded (Kahan).
frontend::Tensor Log1p(const frontend::Tensor& x) {
  const frontend::Tensor u = x + 1.0;
  return Select(Eq(u, 1.0), x, Log(u) * (x / (u - 1.0)));
}

namespace {

using frontend::BinaryOp;
using frontend::Fail;
using frontend::Narrow;
using frontend::ScaleRounding;
using frontend::Shape;
using frontend::Tensor;
using frontend::UnaryOp;
using frontend::Unsupported;

template <UnaryOp kOp>
Tensors ElementOp(const Node& node) {
  return {frontend::Unary(kOp, node[0])};
}

template <BinaryOp kOp>
Tensors ElementOp(const Node& node) {
  return {frontend::Binary(kOp, node[0], node[1])};
}

// The second operand before opset 7. With `axis` its dims are the first operand's from there on; else its last ones.
Tensor LegacyOperand(const Node& node) {
  const Tensor &a = node[0], &b = node[1];
  if (!node.Flag("broadcast") || !node.Has("axis") || b.rank() == 0) return b;
  const int64_t behind = a.rank() - node.Axis(node.Int("axis"), a.rank()) - b.rank();
  if (behind < 0) Fail("its second operand has more dims than the first has from axis on");
  Shape shape = b.shape();
  shape.insert(shape.end(), static_cast<size_t>(behind), 1);
  return Reshape(b, shape);
}

// Before opset 7.
template <BinaryOp kOp>
Tensors LegacyOp(const Node& node) {
  return {frontend::Binary(kOp, node[0], LegacyOperand(node))};
}

template <Tensor (*kFormula)(const Tensor&)>
Tensors WideFormula(const Node& node) {
  return {ThroughF32(node[0], kFormula)};
}

// The element of a constant that has one.
std::optional<double> OnlyNumber(const Tensor& x) {
  if (x.array() == nullptr || x.array()->size() != 1) return std::nullopt;
  return x.array()->number(0);
}

Tensor Magnitude(const Tensor& x) { return IsUnsigned(x.dtype()) ? x : Abs(x); }

Tensor Reciprocal(const Tensor& x) { return 1.0 / x; }

Tensor IsNaN(const Tensor& x) { return Ne(x, x); }

Tensor ErrorFunction(const Tensor& x) {
  if (IsFloat(x.dtype())) return Erf(x);
  return Cast(Erf(Cast(x, DType::kF32)), x.dtype());
}

Tensor Sign(const Tensor& x) {
  if (IsUnsigned(x.dtype())) return Cast(Ne(x, 0), x.dtype());
  const Tensor sign = Cast(x > 0, x.dtype()) - Cast(x < 0, x.dtype());
  return IsFloat(x.dtype()) ? Select(Ne(x, x), x, sign) : sign;
}

// (e^x - e^-x) / 2, and for small x, where that cancels, the series.
Tensor Sinh(const Tensor& x) {
  const Tensor square = x * x;
  const Tensor series = ((square * (1.0 / 5040) + 1.0 / 120) * square + 1.0 / 6) * square + 1.0;
  return Select(Abs(x) < 0.5, x * series, (Exp(x) - Exp(-x)) * 0.5);
}

Tensor Cosh(const Tensor& x) { return (Exp(x) + Exp(-x)) * 0.5; }

// Where the square of a number could leave the range of f32, and 1 beside it does not count in f64.
constexpr double kHuge = 1e8;

Tensor Asinh(const Tensor& x) {
  const Tensor size = Abs(x), held = Min(size, kHuge), square = held * held;
  const Tensor small = Log1p(held + square / (Sqrt(square + 1.0) + 1.0));
  const Tensor out = Select(size > kHuge, Log(size) + std::numbers::ln2, small);
  return Select(x < 0.0, -out, out);
}

Tensor Acosh(const Tensor& x) {
  const Tensor more = Min(x, kHuge) - 1.0;
  return Select(x > kHuge, Log(x) + std::numbers::ln2, Log1p(more + Sqrt(more) * Sqrt(more + 2.0)));
}

Tensor Atanh(const Tensor& x) {
  const Tensor size = Abs(x), small = Min(size, 0.5);
  const Tensor twice = Select(size > 0.5, Log((size + 1.0) / (1.0 - size)), Log1p(small * 2.0 / (1.0 - small)));
  return Select(x < 0.0, twice * -0.5, twice * 0.5);
}

Tensors IsInf(const Node& node) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Tensor& x = node[0];
  const bool positive = node.Flag("detect_positive"), negative = node.Flag("detect_negative");
  if (!IsFloat(x.dtype()) || (!positive && !negative)) {
    return {Broadcast(node.builder().Scalar(DType::kBool, 0), x.shape())};
  }
  if (positive && negative) return {Eq(Abs(x), kInfinity)};
  return {Eq(x, positive ? kInfinity : -kInfinity)};
}

// x to the power of a whole number from 1 on.
Tensor WholePower(const Tensor& x, int power) {
  Tensor out = x;
  for (int i = 1; i < power; ++i) out = out * x;
  return out;
}

// x towards 0, where it is not a whole number up to rounding errors.
Tensor Whole(const Tensor& x) {
  constexpr double kError = 1.0 / (int64_t{1} << 48);
  const Tensor nearest = Round(x);
  return Select(Abs(x - nearest) <= Abs(nearest) * kError, nearest, Unary(UnaryOp::kTrunc, x));
}

Tensor Power(const Tensor& x, const Tensor& exponent) {
  constexpr int kMostProducts = 4;
  const double power = exponent.rank() <= x.rank() ? OnlyNumber(exponent).value_or(0) : 0;  // 0 if not known
  if (power >= 1 && power <= kMostProducts && power == std::floor(power)) {
    return WholePower(x, static_cast<int>(power));
  }
  if (!IsFloat(x.dtype())) return Cast(Whole(Pow(Cast(x, DType::kF64), Cast(exponent, DType::kF64))), x.dtype());
  return power == 0.5 ? Sqrt(x) : Pow(x, Cast(exponent, x.dtype()));
}

Tensors PowerOp(const Node& node) { return {Power(node[0], node[1])}; }
Tensors LegacyPowerOp(const Node& node) { return {Power(node[0], LegacyOperand(node))}; }

Tensors Modulo(const Node& node) {
  return {frontend::Binary(node.Flag("fmod") ? BinaryOp::kRem : BinaryOp::kMod, node[0], node[1])};
}

Tensors BitShift(const Node& node) {
  const std::string direction = node.String("direction");
  if (direction != "LEFT" && direction != "RIGHT") Fail("direction is \"" + direction + "\"");
  const BinaryOp op = direction == "LEFT" ? BinaryOp::kShiftLeft : BinaryOp::kShiftRight;
  const Tensor out = frontend::Binary(op, node[0], node[1]);
  const int bits = 8 * SizeOf(node[0].dtype());
  const bool within = OnlyNumber(node[1]).value_or(bits) < bits;
  return {within ? out : Select(node[1] < bits, out, 0)};
}

Tensor Combined(const Node& node, BinaryOp op) {
  if (node.inputs() == 0) Fail("has no operands");
  for (const Tensor& x : node.all()) {
    if (!x) Fail("an operand is missing");
  }
  Tensor out = node[0];
  for (int i = 1; i < node.inputs(); ++i) out = frontend::Binary(op, out, node[i]);
  return out;
}

template <BinaryOp kOp>
Tensors AllOf(const Node& node) {
  return {Combined(node, kOp)};
}

Tensors Mean(const Node& node) { return {Combined(node, BinaryOp::kAdd) / static_cast<double>(node.inputs())}; }

Tensors Where(const Node& node) { return {Select(node[0], node[1], node[2])}; }

Tensors Clip(const Node& node) {
  Tensor out = node[0];
  if (node[1]) out = Max(out, node.ScalarOf(node[1]));
  if (node[2]) out = Min(out, node.ScalarOf(node[2]));
  return {out};
}

// Before opset 11.
Tensors ClipByAttributes(const Node& node) {
  Tensor out = node[0];
  if (node.Has("min")) out = Max(out, node.Float("min"));
  if (node.Has("max")) out = Min(out, node.Float("max"));
  return {out};
}

ScaleRounding RoundingOf(const Node& node) {
  const std::string mode = node.Has("round_mode") ? node.String("round_mode") : "up";
  if (mode == "up") return ScaleRounding::kUp;
  if (mode == "down") return ScaleRounding::kDown;
  if (mode == "nearest") return ScaleRounding::kNearest;
  Unsupported("round_mode \"" + mode + "\" is unknown");
}

// x in a type of TensorProto.DataType.
Tensor CastTo(const Node& node, const Tensor& x, int64_t type) {
  const Narrow narrow = NarrowOfDataType(type);
  if (narrow == Narrow::kNone) return Cast(Decode(x), DTypeOfDataType(type));
  if (x.narrow() == narrow) return x;
  return Encode(Decode(x), narrow, node.Int("saturate", 1) != 0, RoundingOf(node));
}

Tensors CastOp(const Node& node) { return {CastTo(node, node[0], node.Int("to"))}; }

Tensors CastLike(const Node& node) {
  const Narrow narrow = node[1].narrow();
  return {CastTo(node, node[0], narrow == Narrow::kNone ? DataTypeOf(node[1].dtype()) : DataTypeOfNarrow(narrow))};
}

Tensors BitCast(const Node& node) {
  const Tensor& x = node[0];
  const Narrow narrow = NarrowOfDataType(node.Int("to"));
  for (Narrow type : {x.narrow(), narrow}) {
    if (BitsOf(type) < 8) Unsupported("types below 8 bits are not supported");
  }
  if (narrow != Narrow::kNone) return {Bitcast(x, StorageOf(narrow)).With(narrow)};
  return {Bitcast(x, node.TypeOf("to")).With(Narrow::kNone)};
}

Tensors Identity(const Node& node) { return {node[0]}; }

// Whether there is an operand. One that is not a tensor is refused where it is made.
Tensors OptionalHasElement(const Node& node) { return {node.builder().Scalar(DType::kBool, node[0] ? 1 : 0)}; }

constexpr OperatorRow kElementwiseRows[] = {
    {"", "Abs", 6, "X", "Y", "", Formula<Magnitude>},
    {"", "Acos", 7, "input", "output", "", ElementOp<UnaryOp::kAcos>},
    {"", "Acosh", 9, "input", "output", "", WideFormula<Acosh>},
    {"", "Add", 6, "A B", "C", "axis:int broadcast:int=0", LegacyOp<BinaryOp::kAdd>},
    {"", "Add", 7, "A B", "C", "", ElementOp<BinaryOp::kAdd>},
    {"", "And", 1, "A B", "C", "axis:int broadcast:int=0", LegacyOp<BinaryOp::kAnd>},
    {"", "And", 7, "A B", "C", "", ElementOp<BinaryOp::kAnd>},
    {"", "Asin", 7, "input", "output", "", ElementOp<UnaryOp::kAsin>},
    {"", "Asinh", 9, "input", "output", "", WideFormula<Asinh>},
    {"", "Atan", 7, "input", "output", "", ElementOp<UnaryOp::kAtan>},
    {"", "Atanh", 9, "input", "output", "", WideFormula<Atanh>},
    {"", "BitCast", 26, "input", "output", "to:int!", BitCast, kReads},
    {"", "BitShift", 11, "X Y", "Z", "direction:string!", BitShift},
    {"", "BitwiseAnd", 18, "A B", "C", "", ElementOp<BinaryOp::kAnd>},
    {"", "BitwiseNot", 18, "X", "Y", "", ElementOp<UnaryOp::kNot>},
    {"", "BitwiseOr", 18, "A B", "C", "", ElementOp<BinaryOp::kOr>},
    {"", "BitwiseXor", 18, "A B", "C", "", ElementOp<BinaryOp::kXor>},
    {"", "Cast", 6, "input", "output", "to:int!", CastOp, kReads},
    {"", "Cast", 19, "input", "output", "saturate:int=1 to:int!", CastOp, kReads},
    {"", "Cast", 24, "input", "output", "round_mode:string=up saturate:int=1 to:int!", CastOp, kReads},
    {"", "CastLike", 15, "input target_type", "output", "", CastLike, kReads},
    {"", "CastLike", 19, "input target_type", "output", "saturate:int=1", CastLike, kReads},
    {"", "CastLike", 24, "input target_type", "output", "round_mode:string=up saturate:int=1", CastLike, kReads},
    {"", "Ceil", 6, "X", "Y", "", ElementOp<UnaryOp::kCeil>},
    {"", "Clip", 6, "input", "output", "max:float=3.4028234663852886e+38 min:float=-3.4028234663852886e+38",
     ClipByAttributes},
    {"", "Clip", 11, "input min? max?", "output", "", Clip},
    {"", "Cos", 7, "input", "output", "", ElementOp<UnaryOp::kCos>},
    {"", "Cosh", 9, "input", "output", "", WideFormula<Cosh>},
    {"", "Div", 6, "A B", "C", "axis:int broadcast:int=0", LegacyOp<BinaryOp::kDiv>},
    {"", "Div", 7, "A B", "C", "", ElementOp<BinaryOp::kDiv>},
    {"", "Equal", 1, "A B", "C", "axis:int broadcast:int=0", LegacyOp<BinaryOp::kEq>},
    {"", "Equal", 7, "A B", "C", "", ElementOp<BinaryOp::kEq>},
    {"", "Erf", 9, "input", "output", "", Formula<ErrorFunction>},
    {"", "Exp", 6, "input", "output", "", ElementOp<UnaryOp::kExp>},
    {"", "Floor", 6, "X", "Y", "", ElementOp<UnaryOp::kFloor>},
    {"", "Greater", 1, "A B", "C", "axis:int broadcast:int=0", LegacyOp<BinaryOp::kGt>},
    {"", "Greater", 7, "A B", "C", "", ElementOp<BinaryOp::kGt>},
    {"", "GreaterOrEqual", 12, "A B", "C", "", ElementOp<BinaryOp::kGe>},
    {"", "Identity", 1, "input", "output", "", Identity, kMoves, /*takes_sequences=*/true},
    {"", "IsInf", 10, "X", "Y", "detect_negative:int=1 detect_positive:int=1", IsInf},
    {"", "IsNaN", 9, "X", "Y", "", Formula<IsNaN>},
    {"", "Less", 1, "A B", "C", "axis:int broadcast:int=0", LegacyOp<BinaryOp::kLt>},
    {"", "Less", 7, "A B", "C", "", ElementOp<BinaryOp::kLt>},
    {"", "LessOrEqual", 12, "A B", "C", "", ElementOp<BinaryOp::kLe>},
    {"", "Log", 6, "input", "output", "", ElementOp<UnaryOp::kLog>},
    {"", "Max", 6, "data_0*", "max", "", AllOf<BinaryOp::kMax>},
    {"", "Mean", 6, "data_0*", "mean", "", Mean},
    {"", "Min", 6, "data_0*", "min", "", AllOf<BinaryOp::kMin>},
    {"", "Mod", 10, "A B", "C", "fmod:int=0", Modulo},
    {"", "Mul", 6, "A B", "C", "axis:int broadcast:int=0", LegacyOp<BinaryOp::kMul>},
    {"", "Mul", 7, "A B", "C", "", ElementOp<BinaryOp::kMul>},
    {"", "Neg", 6, "X", "Y", "", ElementOp<UnaryOp::kNeg>},
    {"", "Not", 1, "X", "Y", "", ElementOp<UnaryOp::kNot>},
    {"", "OptionalGetElement", 15, "input", "output", "", Identity},
    {"", "OptionalHasElement", 15, "input", "output", "", OptionalHasElement},
    {"", "OptionalHasElement", 18, "input?", "output", "", OptionalHasElement},
    {"", "Or", 1, "A B", "C", "axis:int broadcast:int=0", LegacyOp<BinaryOp::kOr>},
    {"", "Or", 7, "A B", "C", "", ElementOp<BinaryOp::kOr>},
    {"", "Pow", 1, "X Y", "Z", "axis:int broadcast:int=0", LegacyPowerOp},
    {"", "Pow", 7, "X Y", "Z", "", PowerOp},
    {"", "Reciprocal", 6, "X", "Y", "", Formula<Reciprocal>},
    {"", "Round", 11, "X", "Y", "", ElementOp<UnaryOp::kRound>},
    {"", "Sign", 9, "input", "output", "", Formula<Sign>},
    {"", "Sin", 7, "input", "output", "", ElementOp<UnaryOp::kSin>},
    {"", "Sinh", 9, "input", "output", "", WideFormula<Sinh>},
    {"", "Sqrt", 6, "X", "Y", "", ElementOp<UnaryOp::kSqrt>},
    {"", "Sub", 6, "A B", "C", "axis:int broadcast:int=0", LegacyOp<BinaryOp::kSub>},
    {"", "Sub", 7, "A B", "C", "", ElementOp<BinaryOp::kSub>},
    {"", "Sum", 6, "data_0*", "sum", "", AllOf<BinaryOp::kAdd>},
    {"", "Tan", 7, "input", "output", "", ElementOp<UnaryOp::kTan>},
    {"", "Where", 9, "condition X Y", "output", "", Where},
    {"", "Xor", 1, "A B", "C", "axis:int broadcast:int=0", LegacyOp<BinaryOp::kXor>},
    {"", "Xor", 7, "A B", "C", "", ElementOp<BinaryOp::kXor>},
};

}  // namespace

std::span<const OperatorRow> ElementwiseOperators() { return kElementwiseRows; }

}  // namespace tailor::onnx
