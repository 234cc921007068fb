#include <iterator>

#include "bindings/frontend/elements.h"
#include "bindings/frontend/error.h"
#include "bindings/frontend/evaluate.h"
#include "bindings/frontend/fold.h"
#include "bindings/frontend/ops.h"
#include "bindings/frontend/quotient.h"

namespace tailor::frontend {
namespace {

constexpr tailor_status* (*kUnary[])(tailor_graph*, tailor_value, tailor_value*) = {
    tailor_graph_neg,   tailor_graph_abs,  tailor_graph_exp,   tailor_graph_log,     tailor_graph_tanh,
    tailor_graph_erf,   tailor_graph_sqrt, tailor_graph_rsqrt, tailor_graph_sigmoid, tailor_graph_not,
    tailor_graph_floor, tailor_graph_ceil, tailor_graph_round, tailor_graph_trunc,   tailor_graph_sin,
    tailor_graph_cos,   tailor_graph_tan,  tailor_graph_asin,  tailor_graph_acos,    tailor_graph_atan,
};
static_assert(std::size(kUnary) == static_cast<size_t>(UnaryOp::kAtan) + 1);

constexpr tailor_status* (*kBinary[])(tailor_graph*, tailor_value, tailor_value, tailor_value*) = {
    tailor_graph_add, tailor_graph_sub, tailor_graph_mul, tailor_graph_div,        tailor_graph_pow,
    tailor_graph_max, tailor_graph_min, tailor_graph_mod, tailor_graph_rem,        tailor_graph_eq,
    tailor_graph_ne,  tailor_graph_lt,  tailor_graph_le,  tailor_graph_gt,         tailor_graph_ge,
    tailor_graph_and, tailor_graph_or,  tailor_graph_xor, tailor_graph_shift_left, tailor_graph_shift_right,
};
static_assert(std::size(kBinary) == static_cast<size_t>(BinaryOp::kShiftRight) + 1);

constexpr bool IsArithmetic(DType dtype) { return dtype != DType::kBool; }

bool Takes(UnaryOp op, DType dtype) {
  if (op == UnaryOp::kNot) return !IsFloat(dtype);
  if (op == UnaryOp::kNeg || op == UnaryOp::kAbs) return IsArithmetic(dtype);
  return IsFloat(dtype);
}

bool Takes(BinaryOp op, DType dtype) {
  switch (op) {
    case BinaryOp::kAnd:
    case BinaryOp::kOr:
    case BinaryOp::kXor:
      return !IsFloat(dtype);
    case BinaryOp::kShiftLeft:
    case BinaryOp::kShiftRight:
      return IsInteger(dtype);
    case BinaryOp::kPow:
      return IsFloat(dtype);
    default:
      return IsComparison(op) || IsArithmetic(dtype);
  }
}

}  // namespace

Tensor Operand::Like(const Tensor& other) const {
  if (!is_number()) return tensor();
  Builder& builder = other.builder();
  const auto* integer = std::get_if<int64_t>(&operand_);
  return builder.Constant(integer != nullptr ? Array::Integer(other.dtype(), *integer)
                                             : Array::Scalar(other.dtype(), std::get<double>(operand_)));
}

tailor_status* AppendUnary(UnaryOp op, tailor_graph* graph, tailor_value x, tailor_value* out) {
  return kUnary[static_cast<size_t>(op)](graph, x, out);
}

tailor_status* AppendBinary(BinaryOp op, tailor_graph* graph, tailor_value lhs, tailor_value rhs, tailor_value* out) {
  return kBinary[static_cast<size_t>(op)](graph, lhs, rhs, out);
}

namespace {

Tensor WithQuotient(const Tensor& out, const std::optional<Quotient>& quotient) {
  return quotient ? out.With(*quotient) : out;
}

}  // namespace

Tensor Unary(UnaryOp op, const Tensor& x) {
  Builder& builder = x.builder();
  if (Takes(op, x.dtype())) {
    if (x.array() != nullptr) return builder.Constant(Evaluate(op, *x.array()));
    if (auto folded = FoldElements(op, x)) return *folded;
  }
  const Tensor out =
      builder.Append({x}, [&](tailor_value* out) { return AppendUnary(op, builder.graph(), x.value(), out); });
  return WithQuotient(out, FoldQuotient(op, x));
}

Tensor Binary(BinaryOp op, const Operand& left, const Operand& right) {
  const Tensor lhs = left.is_number() ? left.Like(right.tensor()) : left.tensor();
  const Tensor rhs = right.Like(lhs);
  Builder& builder = lhs.builder();
  if (lhs.dtype() == rhs.dtype() && Takes(op, lhs.dtype())) {
    if (lhs.array() != nullptr && rhs.array() != nullptr) {
      const auto shape = BroadcastShape(lhs.array()->shape(), rhs.array()->shape());
      if (Folds(CountOf(shape), {lhs, rhs})) return builder.Constant(Evaluate(op, *lhs.array(), *rhs.array()));
    }
    if (auto folded = FoldElements(op, lhs, rhs)) return *folded;
  }
  const Tensor out = builder.Append(
      {lhs, rhs}, [&](tailor_value* out) { return AppendBinary(op, builder.graph(), lhs.value(), rhs.value(), out); });
  return WithQuotient(out, FoldQuotient(op, lhs, rhs));
}

Tensor Select(const Tensor& condition, const Operand& on_true, const Operand& on_false) {
  const Tensor a = on_true.is_number() ? on_true.Like(on_false.tensor()) : on_true.tensor();
  const Tensor b = on_false.Like(a);
  Builder& builder = condition.builder();
  if (condition.array() != nullptr && condition.dtype() == DType::kBool && a.array() != nullptr &&
      b.array() != nullptr && a.dtype() == b.dtype()) {
    const auto shape =
        BroadcastShape(condition.array()->shape(), BroadcastShape(a.array()->shape(), b.array()->shape()));
    if (Folds(CountOf(shape), {condition, a, b})) {
      return builder.Constant(EvaluateSelect(*condition.array(), *a.array(), *b.array()));
    }
  }
  if (auto folded = FoldElementsSelect(condition, a, b)) return *folded;
  return builder.Append({condition, a, b}, [&](tailor_value* out) {
    return tailor_graph_select(builder.graph(), condition.value(), a.value(), b.value(), out);
  });
}

Tensor Cast(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  Builder& builder = x.builder();
  if (x.array() != nullptr) return builder.Constant(EvaluateCast(*x.array(), dtype));
  if (x.elements() != nullptr && (dtype == DType::kI64 || dtype == DType::kI32)) {
    std::vector<int64_t> shape;
    for (const Dim& dim : x.shape()) shape.push_back(dim.number());
    return builder.Of(*x.elements(), dtype, std::move(shape));
  }
  if (dtype == DType::kI64 || dtype == DType::kI32) {
    std::vector<int64_t> ones(x.shape().size(), 1);
    if (const auto dim = TruncatedQuotient(x)) return builder.Of({*dim}, dtype, std::move(ones));
  }
  const Tensor out = builder.Append({x}, [&](tailor_value* out) {
    return tailor_graph_cast(builder.graph(), x.value(), static_cast<int32_t>(dtype), out);
  });
  return WithQuotient(out, FoldQuotientCast(x, dtype));
}

Tensor Bitcast(const Tensor& x, DType dtype) {
  Builder& builder = x.builder();
  if (x.array() != nullptr && SizeOf(x.dtype()) == SizeOf(dtype) && dtype != DType::kBool) {
    const Array& array = *x.array();
    return builder.Constant(Array(dtype, array.shape(), array.owner(), array.data()));
  }
  return builder.Append({x}, [&](tailor_value* out) {
    return tailor_graph_bitcast(builder.graph(), x.value(), static_cast<int32_t>(dtype), out);
  });
}

}  // namespace tailor::frontend
