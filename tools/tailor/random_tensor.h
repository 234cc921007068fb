// Random elements, the same on every machine.
#ifndef TAILOR_TOOLS_TAILOR_RANDOM_TENSOR_H_
#define TAILOR_TOOLS_TAILOR_RANDOM_TENSOR_H_

#include <cstdint>
#include <span>
#include <string>

#include "graph/dtype.h"

namespace tailor {

// splitmix64.
uint64_t NextRandom(uint64_t* state);
// A state for `name`: streams of different names are independent.
uint64_t SeedFor(uint64_t seed, const std::string& name);

// Floats are uniform in [low, high), integers in low..high, both included; booleans are false and true.
struct ValueRange {
  double low, high;
};

// [-1, 1) for floats, 0..1 for integers: elements that are masks, and indices of any table of two rows, too.
ValueRange DefaultRange(DType dtype);

// Element i depends only on seed, name, dtype, range and i. Requires a range that `dtype` can hold.
void FillRandom(uint64_t seed, const std::string& name, DType dtype, ValueRange range, std::span<char> data);

}  // namespace tailor

#endif  // TAILOR_TOOLS_TAILOR_RANDOM_TENSOR_H_
