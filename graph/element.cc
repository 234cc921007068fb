#include "graph/element.h"

#include <cassert>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace tailor {
namespace {

uint32_t BitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

float FloatOf(uint32_t bits) {
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

template <typename T>
T Saturate(double value) {
  if (std::isnan(value)) return 0;
  if (value <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
  if (value >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
  return static_cast<T>(value);
}

template <typename T>
std::string NumberText(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(value)) return "nan";
  }
  char buffer[64];
  return std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
}

template <typename T>
bool ParseNumber(absl::string_view text, T* value) {
  const char* end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, *value);
  return error == std::errc() && stop == end;
}

}  // namespace

uint16_t F16FromFloat(float value) {
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

float FloatFromF16(uint16_t bits) {
  uint32_t sign = (bits & 0x8000u) << 16, magnitude = bits & 0x7fffu;
  if (magnitude >= 0x7c00) return FloatOf(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
  if (magnitude >= 0x0400) return FloatOf(sign | ((magnitude << 13) + 0x38000000));
  float subnormal = std::ldexp(static_cast<float>(magnitude), -24);
  return sign != 0 ? -subnormal : subnormal;
}

uint16_t BF16FromFloat(float value) {
  uint32_t bits = BitsOf(value);
  if (std::isnan(value)) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float FloatFromBF16(uint16_t bits) { return FloatOf(static_cast<uint32_t>(bits) << 16); }

void ElementFromDouble(DType dtype, double value, void* element) {
  if (dtype == DType::kBool) {
    *static_cast<uint8_t*>(element) = value != 0;
  } else if (dtype == DType::kF16 || dtype == DType::kBF16) {
    float narrow = static_cast<float>(value);
    uint16_t bits = dtype == DType::kF16 ? F16FromFloat(narrow) : BF16FromFloat(narrow);
    std::memcpy(element, &bits, sizeof bits);
  } else {
    VisitNative(dtype, [&](auto kind) {
      using T = decltype(kind);
      if constexpr (std::is_integral_v<T>) {
        kind = Saturate<T>(value);
      } else {
        kind = static_cast<T>(value);
      }
      std::memcpy(element, &kind, sizeof kind);
    });
  }
}

double ElementToDouble(DType dtype, const void* element) {
  if (dtype == DType::kBool) return *static_cast<const uint8_t*>(element) != 0 ? 1 : 0;
  if (dtype == DType::kF16 || dtype == DType::kBF16) {
    uint16_t bits;
    std::memcpy(&bits, element, sizeof bits);
    return dtype == DType::kF16 ? FloatFromF16(bits) : FloatFromBF16(bits);
  }
  return VisitNative(dtype, [&](auto value) {
    std::memcpy(&value, element, sizeof value);
    return static_cast<double>(value);
  });
}

std::string ElementText(DType dtype, const void* element) {
  if (dtype == DType::kBool) return *static_cast<const uint8_t*>(element) != 0 ? "true" : "false";
  if (dtype == DType::kF16 || dtype == DType::kBF16) {
    uint16_t bits;
    std::memcpy(&bits, element, sizeof bits);
    return NumberText(dtype == DType::kF16 ? FloatFromF16(bits) : FloatFromBF16(bits));
  }
  return VisitNative(dtype, [&](auto value) {
    std::memcpy(&value, element, sizeof value);
    return NumberText(value);
  });
}

bool ParseElement(DType dtype, absl::string_view text, void* element) {
  if (dtype == DType::kBool) {
    if (text != "true" && text != "false") return false;
    *static_cast<uint8_t*>(element) = text == "true";
    return true;
  }
  if (dtype == DType::kF16 || dtype == DType::kBF16) {
    float value;
    if (!ParseNumber(text, &value)) return false;
    ElementFromDouble(dtype, value, element);
    return true;
  }
  return VisitNative(dtype, [&](auto value) {
    if (!ParseNumber(text, &value)) return false;
    std::memcpy(element, &value, sizeof value);
    return true;
  });
}

std::string DoubleText(double value) { return NumberText(value); }

DType DTypeOf(absl::string_view name) {
  for (int i = 1; i < kDTypeCount; ++i) {
    if (name == NameOf(static_cast<DType>(i))) return static_cast<DType>(i);
  }
  return DType::kInvalid;
}

}  // namespace tailor
