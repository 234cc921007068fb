// The functions of one operand that codegen/math/functions.h emits, each with a reference in the next wider type and
// the largest error allowed; errors in units in the last place.
#ifndef TAILOR_TESTS_CODEGEN_MATH_UNARY_MATH_H_
#define TAILOR_TESTS_CODEGEN_MATH_UNARY_MATH_H_

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <ostream>
#include <string>
#include <type_traits>

#include "graph/ops.h"

namespace tailor::math {

// |got - want| in units of the last place of want rounded to T; 0 where both are NaN or the same
// infinity, infinity where only one is.
template <class T, class Wide>
double UlpError(T got, Wide want) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr int kDigits = std::numeric_limits<T>::digits;
  const T rounded = static_cast<T>(want);
  if (std::isnan(rounded) || std::isnan(got)) return std::isnan(rounded) == std::isnan(got) ? 0 : kInfinity;
  if (std::isinf(rounded) || std::isinf(got)) return rounded == got ? 0 : kInfinity;
  const int biased = static_cast<int>(std::bit_cast<Bits>(std::fabs(rounded)) >> (kDigits - 1));
  const int last = std::max(biased, 1) + std::numeric_limits<T>::min_exponent - 1 - kDigits;
  const auto error = std::fabs(static_cast<Wide>(got) - want);
  if constexpr (sizeof(T) == 4) return error * std::bit_cast<double>(static_cast<uint64_t>(1023 - last) << 52);
  return static_cast<double>(std::ldexp(error, -last));
}

inline double SigmoidF32(double x) { return 1 / (1 + std::exp(-x)); }
inline long double SigmoidF64(long double x) { return x < 0 ? expl(x) / (1 + expl(x)) : 1 / (1 + expl(-x)); }

struct UnaryCase {
  OpKind op;
  double (*f32)(double);
  double f32_bound;
  long double (*f64)(long double);
  double f64_bound;
};

inline void PrintTo(const UnaryCase& c, std::ostream* out) { *out << std::string(InfoOf(c.op).text); }

inline constexpr UnaryCase kUnary[] = {
    {OpKind::kExp, std::exp, 1.1, expl, 1.1},
    {OpKind::kLog, std::log, 0.9, logl, 0.9},
    {OpKind::kTanh, std::tanh, 1.45, tanhl, 2.5},
    {OpKind::kErf, std::erf, 1.25, erfl, 1.3},
    {OpKind::kSigmoid, SigmoidF32, 2.7, SigmoidF64, 2.0},
    {OpKind::kSqrt, std::sqrt, 0.5001, sqrtl, 0.5001},
    {OpKind::kSin, std::sin, 0.52, sinl, 1.0},
    {OpKind::kCos, std::cos, 0.52, cosl, 1.0},
    {OpKind::kTan, std::tan, 0.52, tanl, 2.5},
    {OpKind::kAsin, std::asin, 1.6, asinl, 1.6},
    {OpKind::kAcos, std::acos, 1.5, acosl, 1.5},
    {OpKind::kAtan, std::atan, 1.9, atanl, 1.9},
};

}  // namespace tailor::math

#endif  // TAILOR_TESTS_CODEGEN_MATH_UNARY_MATH_H_
