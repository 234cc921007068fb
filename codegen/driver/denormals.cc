#include "codegen/driver/denormals.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace tailor::driver {
namespace {

// `T`: unsigned, of the elements' size; `kFractionBits`: of the format. Whole blocks, so that the loop is vectorized.
template <typename T, int kFractionBits>
bool AnyDenormal(const void* data, int64_t count) {
  constexpr int64_t kBlock = 4096;
  constexpr T kSign = T{1} << (8 * sizeof(T) - 1);
  constexpr T kLeastNormal = T{1} << kFractionBits;
  const T* elements = static_cast<const T*>(data);
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t end = std::min(begin + kBlock, count);
    T found = 0;
    for (int64_t i = begin; i < end; ++i) {
      const auto magnitude = static_cast<T>(elements[i] & ~kSign);
      found |= static_cast<T>(static_cast<T>(magnitude - 1) < kLeastNormal - 1);  // zero wraps around
    }
    if (found != 0) return true;
  }
  return false;
}

}  // namespace

bool HasDenormals(DType dtype, const void* data, int64_t count) {
  switch (dtype) {
    case DType::kF32:
      return AnyDenormal<uint32_t, 23>(data, count);
    case DType::kF64:
      return AnyDenormal<uint64_t, 52>(data, count);
    case DType::kBF16:
      return AnyDenormal<uint16_t, 7>(data, count);
    default:
      return false;
  }
}

std::string ReasonToFlush(Denormals denormals, std::span<const lower::LoweredProgram::Constant> constants) {
  constexpr int64_t kLeastElements = 257;  // front ends decode bytes by tables of 256
  if (denormals == Denormals::kKeep) return "";
  if (denormals == Denormals::kFlush) return "denormals are flushed to zero: denormals=flush";
  for (const lower::LoweredProgram::Constant& constant : constants) {
    const int64_t count = static_cast<int64_t>(constant.data.size) / SizeOf(constant.type.dtype);
    if (count < kLeastElements || !HasDenormals(constant.type.dtype, constant.data.data, count)) continue;
    return absl::StrCat("denormals are flushed to zero: the constant \"", constant.name, "\" has denormal elements");
  }
  return "";
}

}  // namespace tailor::driver
