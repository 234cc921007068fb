#include "bindings/frontend/narrow.h"

#include <cmath>
#include <limits>
#include <vector>

#include "bindings/frontend/ops.h"
#include "bindings/frontend/tensor.h"

// Floats are read through a table of all their values, and written by a binary search among the thresholds between
// neighbouring values, of which the even code owns the tie.
namespace tailor::frontend {
namespace {

constexpr int kCodes = 256;

// A float type with a sign bit. Codes without it ascend with the values.
struct Format {
  int mantissa_bits, bias;
  int greatest;   // code of the greatest number
  int nan;        // code that NaN is written as
  bool one_zero;  // the code of -0 is NaN
};

constexpr Format FormatOf(Narrow type) {
  switch (type) {
    case Narrow::kF8E4M3FN:
      return {3, 7, 0x7e, 0x7f, false};
    case Narrow::kF8E4M3FNUZ:
      return {3, 8, 0x7f, 0x80, true};
    case Narrow::kF8E5M2:
      return {2, 15, 0x7b, 0x7e, false};
    case Narrow::kF8E5M2FNUZ:
      return {2, 16, 0x7f, 0x80, true};
    default:
      return {1, 1, 0x7, 0x8, false};  // kF4E2M1, which has no NaN
  }
}

constexpr int SignOf(Narrow type) { return 1 << (BitsOf(type) - 1); }

double PowerOfTwo(int code) { return std::ldexp(1.0, code - 127); }  // of kF8E8M0

// The value of a code without the sign bit.
double Magnitude(const Format& format, int code) {
  const int exponent = code >> format.mantissa_bits, fraction = code & ((1 << format.mantissa_bits) - 1);
  const int scale = format.bias + format.mantissa_bits;
  if (exponent == 0) return std::ldexp(fraction, 1 - scale);
  return std::ldexp((1 << format.mantissa_bits) + fraction, exponent - scale);
}

double NumberOf(Narrow type, int code) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  if (type == Narrow::kF8E8M0) return code == kCodes - 1 ? kNan : PowerOfTwo(code);
  const Format format = FormatOf(type);
  const int sign = SignOf(type), magnitude = code & (sign - 1);
  const bool negative = (code & sign) != 0;
  double number = Magnitude(format, magnitude);
  if (magnitude > format.greatest) {
    const bool infinite = type == Narrow::kF8E5M2 && magnitude == format.greatest + 1;
    number = infinite ? std::numeric_limits<double>::infinity() : kNan;
  }
  if (format.one_zero && negative && magnitude == 0) return kNan;
  return negative ? -number : number;
}

float After(double number) {
  return std::nextafter(static_cast<float>(number), std::numeric_limits<float>::infinity());
}

// The least number that rounds to each code, up to the one after the greatest number's.
std::vector<float> Thresholds(const Format& format) {
  std::vector<float> thresholds = {0};
  for (int code = 1; code <= format.greatest + 1; ++code) {
    const double below = Magnitude(format, code - 1);
    const double value = code <= format.greatest ? Magnitude(format, code) : 2 * below - Magnitude(format, code - 2);
    const double middle = (below + value) / 2;
    thresholds.push_back(code % 2 == 1 ? After(middle) : static_cast<float>(middle));
  }
  return thresholds;
}

// The same for the powers of 2 that kF8E8M0 has.
std::vector<float> ScaleThresholds(ScaleRounding rounding) {
  std::vector<float> thresholds = {0};
  for (int code = 1; code < kCodes - 1; ++code) {
    const double below = PowerOfTwo(code - 1);
    thresholds.push_back(rounding == ScaleRounding::kUp     ? After(below)
                         : rounding == ScaleRounding::kDown ? static_cast<float>(2 * below)
                                                            : static_cast<float>(1.5 * below));
  }
  return thresholds;
}

// The greatest code whose threshold is not above x, in i32: one comparison for each of its bits. 0 for NaN.
Tensor Search(const Tensor& x, std::vector<float> thresholds) {
  thresholds.resize(kCodes, std::numeric_limits<float>::quiet_NaN());
  const Tensor table = x.builder().Constant(Array::Floats(thresholds, {kCodes}));
  Tensor code = x.builder().Constant(Array::Integer(DType::kI32, 0));
  for (int step = kCodes / 2; step > 0; step /= 2) {
    const Tensor next = code + step;
    code = Select(x >= Gather(table, next), next, code);
  }
  return code;
}

Tensor EncodedFloat(const Tensor& x, Narrow type, bool saturate) {
  const Format format = FormatOf(type);
  Tensor found = Search(Abs(x), Thresholds(format));
  if (saturate || type == Narrow::kF4E2M1) found = Min(found, format.greatest);
  const Tensor negative = (x < 0.0) | (Eq(x, 0.0) & (1.0 / x < 0.0));
  Tensor code = Select(negative, found | SignOf(type), found);
  if (format.one_zero) code = Select(Eq(found, 0), found, code);
  return Select(Ne(x, x), format.nan, code);
}

Tensor Wrapped(const Tensor& x, Narrow type) {
  const int values = 1 << BitsOf(type);
  const Tensor low = Mod(Cast(x, DType::kI32), values);
  const int greatest = LimitsOf(type).greatest;
  if (greatest == values - 1) return low;
  return Select(low > greatest, low - values, low);
}

}  // namespace

Tensor Decode(const Tensor& x) {
  if (x.narrow() == Narrow::kNone) return x;
  if (IsNarrowInteger(x.narrow())) return x.With(Narrow::kNone);
  Array table = Array::New(DType::kF32, {kCodes});
  for (int code = 0; code < kCodes; ++code) {
    table.fill<float>()[code] = static_cast<float>(NumberOf(x.narrow(), code % (1 << BitsOf(x.narrow()))));
  }
  return Gather(x.builder().Constant(std::move(table)), Cast(x, DType::kI32));
}

Tensor Encode(const Tensor& x, Narrow type, bool saturate, ScaleRounding rounding) {
  if (IsNarrowInteger(type)) return Cast(Wrapped(x, type), StorageOf(type)).With(type);
  const Tensor number = Cast(x, DType::kF32);
  const Tensor code = type == Narrow::kF8E8M0
                          ? Select(Ne(number, number), kCodes - 1, Search(number, ScaleThresholds(rounding)))
                          : EncodedFloat(number, type, saturate);
  return Cast(code, StorageOf(type)).With(type);
}

}  // namespace tailor::frontend
