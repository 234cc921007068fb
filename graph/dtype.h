// Element types of tensors. The numbers are part of the C ABI (TAILOR_F32, ...) and of the artifact format, and are
// never reused. Plain data, included by both contract headers.
#ifndef TAILOR_GRAPH_DTYPE_H_
#define TAILOR_GRAPH_DTYPE_H_

#include <cstdint>

namespace tailor {

enum class DType : uint8_t {
  kInvalid = 0,
  kBool = 1,  // one byte, 0 or 1
  kI8 = 2,
  kI16 = 3,
  kI32 = 4,
  kI64 = 5,
  kU8 = 6,
  kU16 = 7,
  kU32 = 8,
  kU64 = 9,
  kF16 = 10,
  kBF16 = 11,
  kF32 = 12,
  kF64 = 13,
};

inline constexpr int kDTypeCount = 14;
inline constexpr int kMaxRank = 8;

// Bytes of one element; 0 for kInvalid.
constexpr int SizeOf(DType type) {
  constexpr uint8_t kSizes[kDTypeCount] = {0, 1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8};
  return kSizes[static_cast<int>(type)];
}

// The name used in graph text and messages: "f32", "bool".
constexpr const char* NameOf(DType type) {
  constexpr const char* kNames[kDTypeCount] = {"invalid", "bool", "i8",  "i16", "i32",  "i64", "u8",
                                               "u16",     "u32",  "u64", "f16", "bf16", "f32", "f64"};
  return kNames[static_cast<int>(type)];
}

constexpr bool IsFloat(DType type) { return type >= DType::kF16 && type <= DType::kF64; }
constexpr bool IsSigned(DType type) { return type >= DType::kI8 && type <= DType::kI64; }
constexpr bool IsUnsigned(DType type) { return type >= DType::kU8 && type <= DType::kU64; }
constexpr bool IsInteger(DType type) { return IsSigned(type) || IsUnsigned(type); }
constexpr bool IsValid(DType type) { return type > DType::kInvalid && static_cast<int>(type) < kDTypeCount; }

}  // namespace tailor

#endif  // TAILOR_GRAPH_DTYPE_H_
