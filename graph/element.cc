#include "graph/element.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "graph/native.h"

namespace tailor {
namespace {

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
