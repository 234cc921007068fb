#include "tests/support/reference_scalar.h"

#include <algorithm>
#include <cassert>

namespace tailor::reference {
namespace {

// How many roundings an op may be off, in units of half the last place: documented bounds are 2 ULP in f32 and
// 4 in f64.
int RoundingsOf(OpKind op, DType dtype) {
  switch (op) {
    case OpKind::kNeg:
    case OpKind::kAbs:
    case OpKind::kMax:
    case OpKind::kMin:
    case OpKind::kRem:
    case OpKind::kFloor:
    case OpKind::kCeil:
    case OpKind::kRound:
    case OpKind::kTrunc:
      return 0;
    case OpKind::kExp:
    case OpKind::kLog:
    case OpKind::kTanh:
    case OpKind::kErf:
    case OpKind::kSigmoid:
    case OpKind::kPow:
    case OpKind::kSin:
    case OpKind::kCos:
    case OpKind::kTan:
    case OpKind::kAsin:
    case OpKind::kAcos:
    case OpKind::kAtan:
      return dtype == DType::kF64 ? 10 : 6;
    case OpKind::kRsqrt:
      return 3;
    default:
      return 1;
  }
}

long double Larger(long double x, long double y) {
  if (std::isnan(x) || std::isnan(y)) return NAN;
  return x > y ? x : y;
}

// The remainder with the sign of y, or the zero with it.
long double FloorRemainder(long double x, long double y) {
  const long double rest = std::fmod(x, y);
  if (rest == 0) return std::copysign(0.0L, y);
  return std::signbit(rest) == std::signbit(y) ? rest : rest + y;
}

// The real function, at exact arguments.
long double Exactly(OpKind op, long double x, long double y) {
  switch (op) {
    case OpKind::kNeg:
      return -x;
    case OpKind::kAbs:
      return std::fabs(x);
    case OpKind::kExp:
      return std::exp(x);
    case OpKind::kLog:
      return std::log(x);
    case OpKind::kTanh:
      return std::tanh(x);
    case OpKind::kErf:
      return std::erf(x);
    case OpKind::kSqrt:
      return std::sqrt(x);
    case OpKind::kRsqrt:
      return 1 / std::sqrt(x);
    case OpKind::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case OpKind::kAdd:
      return x + y;
    case OpKind::kSub:
      return x - y;
    case OpKind::kMul:
      return x * y;
    case OpKind::kDiv:
      return x / y;
    case OpKind::kPow:
      return std::pow(x, y);
    case OpKind::kFloor:
      return std::floor(x);
    case OpKind::kCeil:
      return std::ceil(x);
    case OpKind::kRound:
      return std::nearbyint(x);
    case OpKind::kTrunc:
      return std::trunc(x);
    case OpKind::kSin:
      return std::sin(x);
    case OpKind::kCos:
      return std::cos(x);
    case OpKind::kTan:
      return std::tan(x);
    case OpKind::kAsin:
      return std::asin(x);
    case OpKind::kAcos:
      return std::acos(x);
    case OpKind::kAtan:
      return std::atan(x);
    case OpKind::kMod:
      return FloorRemainder(x, y);
    case OpKind::kRem:
      return std::fmod(x, y);
    case OpKind::kMax:
      return Larger(x, y);
    default:
      assert(op == OpKind::kMin);
      return -Larger(-x, -y);
  }
}

// Whether the error of the arguments spans a place where the function jumps, so that its values at the ends
// of the span say nothing about those between.
bool SpansJump(OpKind op, const Element& x, const Element& y) {
  if (op == OpKind::kDiv) return y.error > 0 && std::fabs(y.value) <= y.error;
  if (op == OpKind::kPow) {  // pow(x, 0) and pow(1, y) are 1 even for infinities and NaN
    const bool zero_power = y.error > 0 && std::fabs(y.value) <= y.error;
    const bool unit_base = x.error > 0 && std::fabs(x.value - 1) <= x.error;
    if ((zero_power && !std::isfinite(x.value)) || (unit_base && std::isnan(y.value))) return true;
    return x.error + y.error > 0 && x.value <= x.error;
  }
  if (op == OpKind::kMod || op == OpKind::kRem) return x.error + y.error > 0;
  if (op == OpKind::kAsin || op == OpKind::kAcos) return x.error > 0 && std::fabs(x.value) + x.error >= 1;
  if (op == OpKind::kFloor || op == OpKind::kCeil || op == OpKind::kRound || op == OpKind::kTrunc) {
    return Exactly(op, x.value - x.error, 0) != Exactly(op, x.value + x.error, 0);
  }
  if (op == OpKind::kTan) return x.error > 0 && std::fabs(std::cos(x.value)) <= 2 * x.error;
  if (op == OpKind::kRsqrt || op == OpKind::kSqrt || op == OpKind::kLog) return x.error > 0 && x.value <= x.error;
  return false;
}

// The functions are monotonic in each argument, so that they differ most at the ends of the errors; sine and cosine
// are not, but never differ by more than their arguments.
Element ApplyFloat(OpKind op, DType dtype, const Element& x, const Element& y) {
  const long double value = Exactly(op, x.value, y.value);
  if (!x.known() || !y.known() || SpansJump(op, x, y)) return Unknown();
  const int roundings = RoundingsOf(op, dtype);
  const bool exact = x.error + y.error == 0 && roundings <= 1 && RoundTo(dtype, value) == value;
  if (exact) return {value};
  long double error = 0;
  if (x.error + y.error > 0) {
    for (int corner = 0; corner < 4; ++corner) {
      const long double at = Exactly(op, x.value + ((corner & 1) != 0 ? x.error : -x.error),
                                     y.value + ((corner & 2) != 0 ? y.error : -y.error));
      const bool same = at == value || (std::isnan(at) && std::isnan(value));
      if (!same && !(std::isfinite(at) && std::isfinite(value))) return Unknown();
      if (!same) error = std::max(error, std::fabs(at - value));
    }
    if (op == OpKind::kSin || op == OpKind::kCos) error = std::min(x.error, 2.0L);
  }
  Element result = Rounded(dtype, value, error, roundings);
  result.overflowed = op == OpKind::kMul && std::isfinite(value) && std::isinf(result.value);
  return result;
}

__int128 ModuloIntegers(__int128 x, __int128 y) {
  const __int128 rest = y == 0 ? 0 : x % y;
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

// `count` modulo the width, which is a power of two.
int MaskedCount(DType dtype, __int128 count) { return static_cast<int>(count & (8 * SizeOf(dtype) - 1)); }

__int128 DivideIntegers(__int128 x, __int128 y) { return y == 0 ? 0 : x / y; }

Element ApplyInteger(OpKind op, DType dtype, const Element& x, const Element& y) {
  if (!x.known() || !y.known()) return Unknown();
  const auto a = static_cast<__int128>(x.value), b = static_cast<__int128>(y.value);
  auto wrapped = [&](__int128 value) { return Element{WrapTo(dtype, value)}; };
  switch (op) {
    case OpKind::kNeg:
      return wrapped(-a);
    case OpKind::kAbs:
      return wrapped(a < 0 ? -a : a);
    case OpKind::kAdd:
      return wrapped(a + b);
    case OpKind::kSub:
      return wrapped(a - b);
    case OpKind::kMul:
      return wrapped(static_cast<__int128>(static_cast<unsigned __int128>(a) * b));
    case OpKind::kDiv:
      return wrapped(DivideIntegers(a, b));
    case OpKind::kMod:
      return wrapped(ModuloIntegers(a, b));
    case OpKind::kRem:
      return wrapped(b == 0 ? 0 : a % b);
    case OpKind::kShiftLeft:
      return wrapped(static_cast<__int128>(static_cast<unsigned __int128>(a) << MaskedCount(dtype, b)));
    case OpKind::kShiftRight:
      return wrapped(a >> MaskedCount(dtype, b));
    case OpKind::kMax:
      return wrapped(std::max(a, b));
    case OpKind::kMin:
      return wrapped(std::min(a, b));
    case OpKind::kNot:
      return dtype == DType::kBool ? Element{x.value == 0 ? 1.0L : 0.0L} : wrapped(~a);
    case OpKind::kAnd:
      return wrapped(a & b);
    case OpKind::kOr:
      return wrapped(a | b);
    default:
      assert(op == OpKind::kXor);
      return wrapped(a ^ b);
  }
}

bool IsComparison(OpKind op) { return op >= OpKind::kEq && op <= OpKind::kGe; }

Element Compare(OpKind op, const Element& x, const Element& y) {
  const long double slack = x.error + y.error;
  const bool ordered = !std::isnan(x.value) && !std::isnan(y.value);
  if (std::isinf(slack)) return Unknown();
  if (slack > 0 && ordered && x.value != INFINITY && std::fabs(x.value - y.value) <= slack) return Unknown();
  switch (op) {
    case OpKind::kEq:
      return {x.value == y.value ? 1.0L : 0.0L};
    case OpKind::kNe:
      return {x.value != y.value ? 1.0L : 0.0L};
    case OpKind::kLt:
      return {x.value < y.value ? 1.0L : 0.0L};
    case OpKind::kLe:
      return {x.value <= y.value ? 1.0L : 0.0L};
    case OpKind::kGt:
      return {x.value > y.value ? 1.0L : 0.0L};
    default:
      return {x.value >= y.value ? 1.0L : 0.0L};
  }
}

// Where the condition is unknown the result is either; it is known as far as the two agree.
Element Select(DType dtype, const Element& condition, const Element& x, const Element& y) {
  if (condition.known()) return condition.value != 0 ? x : y;
  if (!x.known() || !y.known()) return Unknown();
  if (x.value == y.value) return {x.value, std::max(x.error, y.error)};
  if (!IsFloat(dtype) || !std::isfinite(x.value) || !std::isfinite(y.value)) return Unknown();
  return {x.value, std::max(x.error, std::fabs(x.value - y.value) + y.error)};
}

long double Saturated(DType to, long double value) {
  if (std::isnan(value)) return 0;
  return std::min(std::max(std::trunc(value), LeastOf(to)), MostOf(to));
}

}  // namespace

Element Rounded(DType dtype, long double value, long double error, long double roundings) {
  if (std::isinf(error) || !std::isfinite(value)) return {value, error};
  const FloatFormat format = FormatOf(dtype);
  const long double largest = format.Largest();
  const long double magnitude = std::fabs(value);
  if (roundings > 0) {
    error += roundings * (format.UnitRoundoff() * (magnitude + error) + format.LeastSubnormal());
  }
  if (magnitude - error > largest * (1 + format.UnitRoundoff())) return {std::copysign(INFINITY, value), 0};
  if (magnitude + error >= largest) return Unknown();
  return {value, error};
}

Element Apply(OpKind op, DType dtype, const std::vector<Element>& args) {
  if (op == OpKind::kSelect) return Select(dtype, args[0], args[1], args[2]);
  const Element y = args.size() > 1 ? args[1] : Element{};
  if (IsComparison(op)) return Compare(op, args[0], y);
  return IsFloat(dtype) ? ApplyFloat(op, dtype, args[0], y) : ApplyInteger(op, dtype, args[0], y);
}

Element Cast(DType from, DType to, const Element& x) {
  if (!x.known()) return Unknown();
  auto convert = [&](long double value) -> long double {
    if (to == DType::kBool) return value != 0;
    if (IsFloat(to)) return RoundTo(to, value);
    return IsFloat(from) ? Saturated(to, value) : WrapTo(to, static_cast<__int128>(value));
  };
  if (x.error == 0) return {convert(x.value)};
  const long double low = convert(x.value - x.error), high = convert(x.value + x.error);
  if (!IsFloat(to)) return low == high && to != DType::kBool ? Element{low} : Unknown();
  // The value itself may keep more bits than `to` has: what a program rounds is not what is rounded here.
  if (!std::isfinite(low) || !std::isfinite(high)) return low == high ? Element{low} : Unknown();
  return {x.value, std::max(high - x.value, x.value - low)};
}

}  // namespace tailor::reference
