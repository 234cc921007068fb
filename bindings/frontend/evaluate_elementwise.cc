#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "bindings/frontend/codec.h"
#include "bindings/frontend/error.h"
#include "bindings/frontend/evaluate.h"
#include "bindings/frontend/strides.h"

namespace tailor::frontend {
namespace {

template <typename T>
using Wrapping = std::make_unsigned_t<T>;

template <typename T>
T Unary(UnaryOp op, T x) {
  if constexpr (std::is_same_v<T, bool>) {
    return !x;
  } else if constexpr (std::is_integral_v<T>) {
    switch (op) {
      case UnaryOp::kNeg:
        return static_cast<T>(Wrapping<T>{0} - static_cast<Wrapping<T>>(x));
      case UnaryOp::kAbs:
        return std::is_signed_v<T> && x < 0 ? static_cast<T>(Wrapping<T>{0} - static_cast<Wrapping<T>>(x)) : x;
      default:
        return static_cast<T>(~x);
    }
  } else {
    switch (op) {
      case UnaryOp::kNeg:
        return -x;
      case UnaryOp::kAbs:
        return std::fabs(x);
      case UnaryOp::kExp:
        return std::exp(x);
      case UnaryOp::kLog:
        return std::log(x);
      case UnaryOp::kTanh:
        return std::tanh(x);
      case UnaryOp::kErf:
        return std::erf(x);
      case UnaryOp::kSqrt:
        return std::sqrt(x);
      case UnaryOp::kRsqrt:
        return 1 / std::sqrt(x);
      case UnaryOp::kSigmoid:
        return 1 / (1 + std::exp(-x));
      case UnaryOp::kFloor:
        return std::floor(x);
      case UnaryOp::kCeil:
        return std::ceil(x);
      case UnaryOp::kRound:
        return std::nearbyint(x);
      case UnaryOp::kTrunc:
        return std::trunc(x);
      case UnaryOp::kSin:
        return std::sin(x);
      case UnaryOp::kCos:
        return std::cos(x);
      case UnaryOp::kTan:
        return std::tan(x);
      case UnaryOp::kAsin:
        return std::asin(x);
      case UnaryOp::kAcos:
        return std::acos(x);
      case UnaryOp::kAtan:
        return std::atan(x);
      case UnaryOp::kNot:
        break;
    }
    return x;
  }
}

template <typename T>
bool Compares(BinaryOp op, T a, T b) {
  switch (op) {
    case BinaryOp::kEq:
      return a == b;
    case BinaryOp::kNe:
      return a != b;
    case BinaryOp::kLt:
      return a < b;
    case BinaryOp::kLe:
      return a <= b;
    case BinaryOp::kGt:
      return a > b;
    default:
      return a >= b;
  }
}

template <typename T>
T Divided(T a, T b) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return Unary(UnaryOp::kNeg, a);
  }
  return static_cast<T>(a / b);
}

template <typename T>
T Remainder(T a, T b) {  // has the sign of a
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return 0;
  }
  return static_cast<T>(a % b);
}

template <typename T>
T Integral(BinaryOp op, T a, T b) {
  using U = Wrapping<T>;
  const U x = static_cast<U>(a), y = static_cast<U>(b), width = sizeof(T) * 8;
  switch (op) {
    case BinaryOp::kAdd:
      return static_cast<T>(x + y);
    case BinaryOp::kSub:
      return static_cast<T>(x - y);
    case BinaryOp::kMul:
      return static_cast<T>(static_cast<uint64_t>(x) * static_cast<uint64_t>(y));
    case BinaryOp::kDiv:
      return Divided(a, b);
    case BinaryOp::kRem:
      return Remainder(a, b);
    case BinaryOp::kMod: {
      const T rest = Remainder(a, b);
      return rest != 0 && (rest < 0) != (b < 0) ? static_cast<T>(rest + b) : rest;
    }
    case BinaryOp::kMax:
      return std::max(a, b);
    case BinaryOp::kMin:
      return std::min(a, b);
    case BinaryOp::kAnd:
      return static_cast<T>(a & b);
    case BinaryOp::kOr:
      return static_cast<T>(a | b);
    case BinaryOp::kXor:
      return static_cast<T>(a ^ b);
    case BinaryOp::kShiftLeft:
      return static_cast<T>(static_cast<uint64_t>(x) << (y % width));
    case BinaryOp::kShiftRight:
      return static_cast<T>(a >> (y % width));
    default:
      return a;
  }
}

template <typename T>
T Floating(BinaryOp op, T a, T b) {
  switch (op) {
    case BinaryOp::kAdd:
      return a + b;
    case BinaryOp::kSub:
      return a - b;
    case BinaryOp::kMul:
      return a * b;
    case BinaryOp::kDiv:
      return a / b;
    case BinaryOp::kPow:
      return std::pow(a, b);
    case BinaryOp::kMax:
      return std::isnan(a) || std::isnan(b) ? std::numeric_limits<T>::quiet_NaN() : std::max(a, b);
    case BinaryOp::kMin:
      return std::isnan(a) || std::isnan(b) ? std::numeric_limits<T>::quiet_NaN() : std::min(a, b);
    case BinaryOp::kRem:
      return std::fmod(a, b);
    case BinaryOp::kMod: {
      const T rest = std::fmod(a, b);
      return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    }
    default:
      return a;
  }
}

template <typename T>
T Arithmetic(BinaryOp op, T a, T b) {
  if constexpr (std::is_same_v<T, bool>) {
    return op == BinaryOp::kAnd ? a && b : op == BinaryOp::kOr ? a || b : a != b;
  } else if constexpr (std::is_integral_v<T>) {
    return Integral(op, a, b);
  } else {
    return Floating(op, a, b);
  }
}

template <typename From, typename To>
typename To::Value Converted(typename From::Value value) {
  using T = typename To::Value;
  using F = typename From::Value;
  if constexpr (std::is_same_v<T, bool>) {
    return value != F{0};
  } else if constexpr (std::is_integral_v<T> && std::is_floating_point_v<F>) {
    return Saturate<T>(static_cast<double>(value));
  } else {
    return static_cast<T>(value);
  }
}

}  // namespace

std::vector<int64_t> BroadcastShape(const std::vector<int64_t>& lhs, const std::vector<int64_t>& rhs) {
  const std::vector<int64_t>& longer = lhs.size() >= rhs.size() ? lhs : rhs;
  const std::vector<int64_t>& shorter = lhs.size() >= rhs.size() ? rhs : lhs;
  std::vector<int64_t> out = longer;
  for (size_t i = 0; i < shorter.size(); ++i) {
    int64_t& dim = out[longer.size() - shorter.size() + i];
    if (dim == shorter[i] || shorter[i] == 1) continue;
    if (dim != 1) Fail("dim sizes " + std::to_string(dim) + " and " + std::to_string(shorter[i]) + " do not broadcast");
    dim = shorter[i];
  }
  return out;
}

Array Evaluate(UnaryOp op, const Array& x) {
  Array out = Array::New(x.dtype(), x.shape());
  VisitCodec(x.dtype(), [&](auto codec) {
    using Codec = decltype(codec);
    const auto* from = x.as<typename Codec::Stored>();
    auto* to = out.fill<typename Codec::Stored>();
    for (int64_t i = 0; i < x.size(); ++i) to[i] = Codec::Store(Unary(op, Codec::Load(from[i])));
  });
  return out;
}

Array Evaluate(BinaryOp op, const Array& lhs, const Array& rhs) {
  const std::vector<int64_t> shape = BroadcastShape(lhs.shape(), rhs.shape());
  Array out = Array::New(IsComparison(op) ? DType::kBool : lhs.dtype(), shape);
  const std::array<Strides, 2> strides = {BroadcastStrides(lhs.shape(), shape.size()),
                                          BroadcastStrides(rhs.shape(), shape.size())};
  VisitCodec(lhs.dtype(), [&](auto codec) {
    using Codec = decltype(codec);
    using Stored = typename Codec::Stored;
    const Stored *a = lhs.as<Stored>(), *b = rhs.as<Stored>();
    if (IsComparison(op)) {
      auto* to = out.fill<uint8_t>();
      ForEachElement(shape, strides, [&](int64_t i, const auto& at) {
        to[i] = Compares(op, Codec::Load(a[at[0]]), Codec::Load(b[at[1]])) ? 1 : 0;
      });
    } else {
      auto* to = out.fill<Stored>();
      ForEachElement(shape, strides, [&](int64_t i, const auto& at) {
        to[i] = Codec::Store(Arithmetic(op, Codec::Load(a[at[0]]), Codec::Load(b[at[1]])));
      });
    }
  });
  return out;
}

Array EvaluateSelect(const Array& condition, const Array& on_true, const Array& on_false) {
  const std::vector<int64_t> shape =
      BroadcastShape(condition.shape(), BroadcastShape(on_true.shape(), on_false.shape()));
  Array out = Array::New(on_true.dtype(), shape);
  const std::array<Strides, 3> strides = {BroadcastStrides(condition.shape(), shape.size()),
                                          BroadcastStrides(on_true.shape(), shape.size()),
                                          BroadcastStrides(on_false.shape(), shape.size())};
  VisitCodec(out.dtype(), [&](auto codec) {
    using Stored = typename decltype(codec)::Stored;
    const auto* chosen = condition.as<uint8_t>();
    const Stored *a = on_true.as<Stored>(), *b = on_false.as<Stored>();
    auto* to = out.fill<Stored>();
    ForEachElement(shape, strides,
                   [&](int64_t i, const auto& at) { to[i] = chosen[at[0]] != 0 ? a[at[1]] : b[at[2]]; });
  });
  return out;
}

Array EvaluateCast(const Array& x, DType dtype) {
  Array out = Array::New(dtype, x.shape());
  VisitCodec(x.dtype(), [&](auto from) {
    using From = decltype(from);
    VisitCodec(dtype, [&](auto to) {
      using To = decltype(to);
      const auto* source = x.as<typename From::Stored>();
      auto* target = out.fill<typename To::Stored>();
      for (int64_t i = 0; i < x.size(); ++i) target[i] = To::Store(Converted<From, To>(From::Load(source[i])));
    });
  });
  return out;
}

Array EvaluateDot(const Array& lhs, const Array& rhs) {
  const auto outer = [](const Array& x) { return std::vector<int64_t>(x.shape().begin(), x.shape().end() - 2); };
  const std::vector<int64_t> batch = BroadcastShape(outer(lhs), outer(rhs));
  const int64_t rows = lhs.shape().end()[-2], depth = lhs.shape().back(), columns = rhs.shape().back();
  std::vector<int64_t> shape = batch;
  shape.insert(shape.end(), {rows, columns});
  Array out = Array::New(lhs.dtype(), shape);
  const std::array<Strides, 2> strides = {BroadcastStrides(outer(lhs), batch.size()),
                                          BroadcastStrides(outer(rhs), batch.size())};
  VisitCodec(lhs.dtype(), [&](auto codec) {
    using T = typename decltype(codec)::Stored;
    if constexpr (std::is_floating_point_v<T>) {
      std::vector<double> sums(static_cast<size_t>(columns));
      ForEachElement(batch, strides, [&](int64_t i, const auto& at) {
        const T *a = lhs.as<T>() + at[0] * rows * depth, *b = rhs.as<T>() + at[1] * depth * columns;
        T* to = out.fill<T>() + i * rows * columns;
        for (int64_t row = 0; row < rows; ++row) {
          std::fill(sums.begin(), sums.end(), 0.0);
          for (int64_t k = 0; k < depth; ++k) {
            const double factor = a[row * depth + k];
            for (int64_t column = 0; column < columns; ++column) sums[column] += factor * b[k * columns + column];
          }
          for (int64_t column = 0; column < columns; ++column)
            to[row * columns + column] = static_cast<T>(sums[column]);
        }
      });
    }
  });
  return out;
}

Array EvaluateReduce(ReduceOp op, const Array& x, const std::vector<int64_t>& axes, bool keep_dims) {
  std::vector<int64_t> kept = x.shape(), shape;
  double count = 1;
  for (int64_t axis : axes) {
    count *= static_cast<double>(kept[static_cast<size_t>(axis)]);
    kept[static_cast<size_t>(axis)] = 1;
  }
  for (size_t i = 0; i < kept.size(); ++i) {
    if (keep_dims || std::find(axes.begin(), axes.end(), static_cast<int64_t>(i)) == axes.end())
      shape.push_back(kept[i]);
  }
  Array out = Array::New(x.dtype(), shape);
  const std::array<Strides, 1> strides = {BroadcastStrides(kept, kept.size())};
  VisitCodec(x.dtype(), [&](auto codec) {
    using Codec = decltype(codec);
    using T = typename Codec::Value;
    if constexpr (!std::is_same_v<T, bool>) {
      using Sum = std::conditional_t<std::is_floating_point_v<T>, double, T>;
      const bool least = op == ReduceOp::kMax;
      constexpr T kLow =
          std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::min();
      constexpr T kHigh =
          std::is_floating_point_v<T> ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
      const T start = least ? kLow : op == ReduceOp::kMin ? kHigh : op == ReduceOp::kProd ? T{1} : T{0};
      std::vector<Sum> totals(static_cast<size_t>(out.size()), static_cast<Sum>(start));
      const BinaryOp combine = op == ReduceOp::kMax    ? BinaryOp::kMax
                               : op == ReduceOp::kMin  ? BinaryOp::kMin
                               : op == ReduceOp::kProd ? BinaryOp::kMul
                                                       : BinaryOp::kAdd;
      const auto* from = x.as<typename Codec::Stored>();
      ForEachElement(x.shape(), strides, [&](int64_t i, const auto& at) {
        Sum& total = totals[static_cast<size_t>(at[0])];
        total = Arithmetic(combine, total, static_cast<Sum>(Codec::Load(from[i])));
      });
      auto* to = out.fill<typename Codec::Stored>();
      for (int64_t i = 0; i < out.size(); ++i) {
        Sum total = totals[static_cast<size_t>(i)];
        if (op == ReduceOp::kMean) total = static_cast<Sum>(total / static_cast<Sum>(count));
        to[i] = Codec::Store(static_cast<T>(total));
      }
    }
  });
  return out;
}

}  // namespace tailor::frontend
