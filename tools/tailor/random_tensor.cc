#include "tools/tailor/random_tensor.h"

#include <cmath>

#include "graph/element.h"

namespace tailor {

uint64_t NextRandom(uint64_t* state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

uint64_t SeedFor(uint64_t seed, const std::string& name) {
  uint64_t state = seed;
  for (const char c : name) state = NextRandom(&state) ^ static_cast<uint8_t>(c);
  return state;
}

ValueRange DefaultRange(DType dtype) { return IsFloat(dtype) ? ValueRange{-1, 1} : ValueRange{0, 1}; }

void FillRandom(uint64_t seed, const std::string& name, DType dtype, ValueRange range, std::span<char> data) {
  uint64_t state = SeedFor(seed, name);
  const double width = range.high - range.low + (IsFloat(dtype) ? 0 : 1);
  for (size_t at = 0; at < data.size(); at += SizeOf(dtype)) {
    const double unit = static_cast<double>(NextRandom(&state) >> 11) * 0x1p-53;  // in [0, 1)
    const double value = range.low + unit * width;
    ElementFromDouble(dtype, IsFloat(dtype) ? value : std::floor(value), data.data() + at);
  }
}

}  // namespace tailor
