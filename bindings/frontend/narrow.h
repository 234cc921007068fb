// Element types of at most 8 bits that Tailor does not have. Floats travel as their bits in u8, integers as values in
// i8 or u8.
#ifndef TAILOR_BINDINGS_FRONTEND_NARROW_H_
#define TAILOR_BINDINGS_FRONTEND_NARROW_H_

#include <cstdint>
#include <string_view>
#include <utility>

#include "graph/dtype.h"

namespace tailor::frontend {

enum class Narrow : uint8_t {
  kNone,
  kF8E4M3FN,
  kF8E4M3FNUZ,
  kF8E5M2,
  kF8E5M2FNUZ,
  kF8E8M0,
  kF4E2M1,
  kI4,
  kU4,
  kI2,
  kU2,
};

constexpr bool IsNarrowFloat(Narrow type) { return type >= Narrow::kF8E4M3FN && type <= Narrow::kF4E2M1; }
constexpr bool IsNarrowInteger(Narrow type) { return type >= Narrow::kI4; }
// The dtype that elements travel in.
constexpr DType StorageOf(Narrow type) { return type == Narrow::kI4 || type == Narrow::kI2 ? DType::kI8 : DType::kU8; }
constexpr int BitsOf(Narrow type) {
  if (type == Narrow::kI2 || type == Narrow::kU2) return 2;
  return type == Narrow::kI4 || type == Narrow::kU4 || type == Narrow::kF4E2M1 ? 4 : 8;
}

struct NarrowLimits {
  int least, greatest;
};
// Of an integer type.
constexpr NarrowLimits LimitsOf(Narrow type) {
  const int values = 1 << BitsOf(type);
  if (StorageOf(type) == DType::kU8) return {0, values - 1};
  return {-values / 2, values / 2 - 1};
}

class Tensor;
// What travelling elements mean, in a type that Tailor has: f32, or the integers themselves. A tensor whose type is not
// narrow stays as it is.
Tensor Decode(const Tensor& x);

// To the next power of 2 that kF8E8M0 has.
enum class ScaleRounding : uint8_t { kUp, kDown, kNearest };
// Numbers as travelling elements, tagged with `type`. Integers wrap. Floats round to even, kF8E8M0 as `rounding` says;
// beyond the greatest number they give it, or without `saturate` the infinity or NaN that `type` has.
Tensor Encode(const Tensor& x, Narrow type, bool saturate = true, ScaleRounding rounding = ScaleRounding::kUp);

}  // namespace tailor::frontend

#endif  // TAILOR_BINDINGS_FRONTEND_NARROW_H_
