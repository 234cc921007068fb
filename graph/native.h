// C++ types of elements, and f16 and bf16 as bits. Plain C++: front ends include it too.
#ifndef TAILOR_GRAPH_NATIVE_H_
#define TAILOR_GRAPH_NATIVE_H_

#include <cassert>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "graph/dtype.h"

namespace tailor {

inline uint32_t BitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

inline float FloatOf(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// Calls visit(T{}) with the C++ type that holds `dtype`; not for f16, bf16 and bool.
template <typename Visit>
auto VisitNative(DType dtype, Visit visit) {
  switch (dtype) {
    case DType::kI8:
      return visit(int8_t{});
    case DType::kI16:
      return visit(int16_t{});
    case DType::kI32:
      return visit(int32_t{});
    case DType::kI64:
      return visit(int64_t{});
    case DType::kU8:
      return visit(uint8_t{});
    case DType::kU16:
      return visit(uint16_t{});
    case DType::kU32:
      return visit(uint32_t{});
    case DType::kU64:
      return visit(uint64_t{});
    case DType::kF32:
      return visit(float{});
    default:
      assert(dtype == DType::kF64);
      return visit(double{});
  }
}

// `value` truncated to T: NaN gives 0, numbers out of range the nearest.
template <typename T>
T Saturate(double value) {
  if (std::isnan(value)) return 0;
  if (value <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
  if (value >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
  return static_cast<T>(value);
}

// Rounded to nearest even.
inline uint16_t F16FromFloat(float value) {
  uint32_t bits = BitsOf(value);
  uint16_t sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00 | (magnitude >> 13 & 0x3ff);
  if (magnitude >= 0x477ff000) return sign | 0x7c00;  // rounds to 65536 or more
  if (magnitude < 0x38800000) {                       // subnormal: the result is in the sum's low bits
    return sign | static_cast<uint16_t>(BitsOf(FloatOf(magnitude) + 0.5f) - BitsOf(0.5f));
  }
  uint32_t odd = magnitude >> 13 & 1;
  return sign | static_cast<uint16_t>((magnitude - 0x38000000 + 0xfff + odd) >> 13);
}

inline float FloatFromF16(uint16_t bits) {
  uint32_t sign = (bits & 0x8000u) << 16, magnitude = bits & 0x7fffu;
  if (magnitude >= 0x7c00) return FloatOf(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
  if (magnitude >= 0x0400) return FloatOf(sign | ((magnitude << 13) + 0x38000000));
  float subnormal = std::ldexp(static_cast<float>(magnitude), -24);
  return sign != 0 ? -subnormal : subnormal;
}

inline uint16_t BF16FromFloat(float value) {
  uint32_t bits = BitsOf(value);
  if (std::isnan(value)) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

inline float FloatFromBF16(uint16_t bits) { return FloatOf(static_cast<uint32_t>(bits) << 16); }

}  // namespace tailor

#endif  // TAILOR_GRAPH_NATIVE_H_
