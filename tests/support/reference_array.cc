#include "tests/support/reference_array.h"

#include <cassert>
#include <cstring>

namespace tailor::reference {
namespace {

int BitsOf(DType dtype) { return 8 * SizeOf(dtype); }

// The bits of a float type from its value, by the formula of IEEE 754.
uint64_t Encode(DType dtype, long double value) {
  const FloatFormat f = FormatOf(dtype);
  const int fraction_bits = f.precision - 1;
  const uint64_t all_ones = (uint64_t{1} << (BitsOf(dtype) - f.precision)) - 1;
  const uint64_t sign = std::signbit(value) ? uint64_t{1} << (BitsOf(dtype) - 1) : 0;
  const long double magnitude = std::fabs(value);
  if (std::isnan(value)) return sign | all_ones << fraction_bits | uint64_t{1} << (fraction_bits - 1);
  if (std::isinf(value)) return sign | all_ones << fraction_bits;
  if (magnitude < f.LeastNormal()) return sign | static_cast<uint64_t>(magnitude / f.LeastSubnormal());
  const int exponent = std::ilogb(magnitude);
  const auto significand = static_cast<uint64_t>(std::ldexp(magnitude, fraction_bits - exponent));
  const uint64_t biased = static_cast<uint64_t>(exponent - f.least_exponent + 1);
  return sign | biased << fraction_bits | (significand & ((uint64_t{1} << fraction_bits) - 1));
}

long double Decode(DType dtype, uint64_t bits) {
  const FloatFormat f = FormatOf(dtype);
  const int fraction_bits = f.precision - 1;
  const uint64_t all_ones = (uint64_t{1} << (BitsOf(dtype) - f.precision)) - 1;
  const uint64_t biased = bits >> fraction_bits & all_ones;
  const uint64_t fraction = bits & ((uint64_t{1} << fraction_bits) - 1);
  long double magnitude;
  if (biased == all_ones) {
    magnitude = fraction != 0 ? NAN : INFINITY;
  } else if (biased == 0) {
    magnitude = static_cast<long double>(fraction) * f.LeastSubnormal();
  } else {
    const uint64_t significand = fraction | uint64_t{1} << fraction_bits;
    magnitude = std::ldexp(static_cast<long double>(significand),
                           static_cast<int>(biased) - 1 + f.least_exponent - fraction_bits);
  }
  return (bits >> (BitsOf(dtype) - 1) & 1) != 0 ? -magnitude : magnitude;
}

}  // namespace

int64_t CountOf(const std::vector<int64_t>& dims) {
  int64_t count = 1;
  for (int64_t dim : dims) count *= dim;
  return count;
}

long double FloatFormat::Largest() const { return std::ldexp(2 - std::ldexp(1.0L, 1 - precision), most_exponent); }

FloatFormat FormatOf(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return {11, -14, 15};
    case DType::kBF16:
      return {8, -126, 127};
    case DType::kF32:
      return {24, -126, 127};
    default:
      assert(dtype == DType::kF64);
      return {53, -1022, 1023};
  }
}

long double RoundTo(DType dtype, long double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  const FloatFormat f = FormatOf(dtype);
  const int exponent = std::max(std::ilogb(value), f.least_exponent);
  const int scale = f.precision - 1 - exponent;
  const long double rounded = std::ldexp(std::nearbyint(std::ldexp(value, scale)), -scale);
  return std::fabs(rounded) > f.Largest() ? std::copysign(INFINITY, value) : rounded;
}

long double WrapTo(DType dtype, __int128 value) {
  if (dtype == DType::kBool) return value != 0;
  const auto modulus = static_cast<__int128>(1) << BitsOf(dtype);
  __int128 wrapped = value % modulus;
  if (wrapped < 0) wrapped += modulus;
  if (IsSigned(dtype) && wrapped >= modulus / 2) wrapped -= modulus;
  return static_cast<long double>(wrapped);
}

long double LeastOf(DType dtype) { return IsSigned(dtype) ? -std::ldexp(1.0L, BitsOf(dtype) - 1) : 0; }

long double MostOf(DType dtype) { return std::ldexp(1.0L, BitsOf(dtype) - (IsSigned(dtype) ? 1 : 0)) - 1; }

Array FromBytes(DType dtype, std::vector<int64_t> dims, const void* bytes) {
  Array array{dtype, std::move(dims), {}};
  array.elements.resize(CountOf(array.dims));
  const auto* at = static_cast<const char*>(bytes);
  for (Element& element : array.elements) {
    uint64_t bits = 0;
    std::memcpy(&bits, at, SizeOf(dtype));
    element.value = IsFloat(dtype) ? Decode(dtype, bits) : WrapTo(dtype, bits);
    at += SizeOf(dtype);
  }
  return array;
}

std::vector<std::byte> ToBytes(const Array& array) {
  std::vector<std::byte> bytes(array.elements.size() * SizeOf(array.dtype));
  std::byte* at = bytes.data();
  for (const Element& element : array.elements) {
    const uint64_t bits = IsFloat(array.dtype) ? Encode(array.dtype, element.value)
                                               : static_cast<uint64_t>(static_cast<__int128>(element.value));
    std::memcpy(at, &bits, SizeOf(array.dtype));
    at += SizeOf(array.dtype);
  }
  return bytes;
}

}  // namespace tailor::reference
