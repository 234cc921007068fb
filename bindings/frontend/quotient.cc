#include "bindings/frontend/quotient.h"

#include <cmath>

#include "bindings/frontend/builder.h"
#include "bindings/frontend/error.h"

namespace tailor::frontend {
namespace {

constexpr double kLargestExact = 1 << 23;

bool IsWide(DType dtype) { return dtype == DType::kF32 || dtype == DType::kF64; }

bool IsPowerOfTwo(int64_t x) { return x > 0 && (x & (x - 1)) == 0; }

// The number of a constant with one element.
std::optional<double> ConstantOf(const Tensor& x) {
  if (x.array() == nullptr || !IsWide(x.dtype()) || x.array()->size() != 1) return std::nullopt;
  return x.array()->number(0);
}

std::optional<int64_t> IntegerOf(double number) {
  if (!(std::abs(number) <= kLargestExact) || number != std::floor(number)) return std::nullopt;
  return static_cast<int64_t>(number);
}

// The quotient of a float; of a constant that is an integer.
std::optional<Quotient> QuotientOf(const Tensor& x) {
  if (x.quotient()) return x.quotient();
  const auto number = ConstantOf(x);
  const auto integer = number ? IntegerOf(*number) : std::nullopt;
  if (!integer) return std::nullopt;
  return Quotient{*integer, 1};
}

std::optional<Quotient> Divided(const Quotient& a, int64_t divisor) {
  if (divisor < 1 || (a.divisor != 1 && divisor != 1)) return std::nullopt;  // two divisions round twice
  return Quotient{a.dividend, a.divisor * divisor};
}

// a / number or a * number where that is a quotient rounded at most once.
std::optional<Quotient> Scaled(Dims& dims, BinaryOp op, const Quotient& a, double number) {
  const bool divides = op == BinaryOp::kDiv;
  if (const auto integer = IntegerOf(number)) {
    if (divides) return Divided(a, *integer);
    if (a.divisor == 1) return Quotient{dims.Mul(a.dividend, *integer), 1};
    return std::nullopt;
  }
  const auto inverse = IntegerOf(1.0 / number);
  if (!inverse || !IsPowerOfTwo(*inverse)) return std::nullopt;  // 1 / number is exact
  if (!divides) return Divided(a, *inverse);
  if (a.divisor == 1) return Quotient{dims.Mul(a.dividend, *inverse), 1};
  return std::nullopt;
}

std::optional<Quotient> Combined(Dims& dims, BinaryOp op, const Quotient& a, const Quotient& b) {
  if (a.divisor != 1 && b.divisor != 1) return std::nullopt;
  switch (op) {
    case BinaryOp::kAdd:
    case BinaryOp::kSub: {
      const Dim left = dims.Mul(a.dividend, b.divisor), right = dims.Mul(b.dividend, a.divisor);
      return Quotient{op == BinaryOp::kAdd ? dims.Add(left, right) : dims.Sub(left, right), a.divisor * b.divisor};
    }
    case BinaryOp::kMul:
      if (a.divisor * b.divisor != 1) return std::nullopt;
      return Quotient{dims.Mul(a.dividend, b.dividend), 1};
    case BinaryOp::kMin:
    case BinaryOp::kMax:
      if (a.divisor * b.divisor != 1) return std::nullopt;
      return Quotient{op == BinaryOp::kMin ? dims.Min(a.dividend, b.dividend) : dims.Max(a.dividend, b.dividend), 1};
    default:
      return std::nullopt;
  }
}

// arithmetic(), or nullopt where its result is no dim: it leaves 64 bits or has too many terms.
template <typename Result, typename Arithmetic>
std::optional<Result> Fitting(Arithmetic arithmetic) {
  try {
    return arithmetic();
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

std::optional<Quotient> FoldQuotient(UnaryOp op, const Tensor& x) {
  const auto known = x.quotient();
  if (!known) return std::nullopt;
  const Dim dividend = known->dividend;
  const int64_t divisor = known->divisor;
  Dims& dims = x.builder().dims();
  return Fitting<Quotient>([&]() -> std::optional<Quotient> {
    switch (op) {
      case UnaryOp::kNeg:
        return Quotient{dims.Sub(0, dividend), divisor};
      case UnaryOp::kFloor:
        return Quotient{dims.FloorDiv(dividend, divisor), 1};
      case UnaryOp::kCeil:
        return Quotient{dims.CeilDiv(dividend, divisor), 1};
      case UnaryOp::kRound:
        return divisor == 1 ? known : std::nullopt;
      default:
        return std::nullopt;
    }
  });
}

std::optional<Quotient> FoldQuotient(BinaryOp op, const Tensor& lhs, const Tensor& rhs) {
  if (!lhs.quotient() && !rhs.quotient()) return std::nullopt;
  Dims& dims = lhs.builder().dims();
  return Fitting<Quotient>([&]() -> std::optional<Quotient> {
    if (op == BinaryOp::kMul || op == BinaryOp::kDiv) {
      if (const auto number = ConstantOf(rhs)) return Scaled(dims, op, *lhs.quotient(), *number);
      if (const auto number = ConstantOf(lhs); number && op == BinaryOp::kMul) {
        return Scaled(dims, op, *rhs.quotient(), *number);
      }
    }
    const auto a = QuotientOf(lhs), b = QuotientOf(rhs);
    return a && b ? Combined(dims, op, *a, *b) : std::nullopt;
  });
}

std::optional<Quotient> FoldQuotientCast(const Tensor& x, DType dtype) {
  if (!IsWide(dtype)) return std::nullopt;
  if (x.quotient()) return x.quotient();
  const auto* elements = x.elements();
  if (elements == nullptr || elements->size() != 1 || !elements->at(0).is_dim()) return std::nullopt;
  return Quotient{elements->at(0).dim, 1};
}

std::optional<Dim> TruncatedQuotient(const Tensor& x) {
  const auto known = x.quotient();
  if (!known) return std::nullopt;
  return Fitting<Dim>([&] { return x.builder().dims().TruncDiv(known->dividend, known->divisor); });
}

}  // namespace tailor::frontend
