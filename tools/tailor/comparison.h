// An output beside what it should be, and its statistics.
#ifndef TAILOR_TOOLS_TAILOR_COMPARISON_H_
#define TAILOR_TOOLS_TAILOR_COMPARISON_H_

#include <cstdint>
#include <string>

#include "tools/tailor/tensor_file.h"

namespace tailor {

struct Statistics {
  double min = 0, mean = 0, max = 0;  // of elements that are no NaN
  int64_t nans = 0;
};

Statistics StatisticsOf(const NamedTensor& tensor);

// 16 hex digits of the BLAKE2b-256 of the elements' bytes.
std::string HashText(const NamedTensor& tensor);

struct Comparison {
  int64_t differing = 0;      // elements that differ too much; -1: dtype or shape differ
  double max_difference = 0;  // absolute, of all elements
  std::string message;        // of a mismatch: "3 of 6 elements differ, most at [1, 2]: 5, expected 6"

  bool matches() const { return differing == 0; }
};

// Floats match if |actual - expected| <= atol + rtol * |expected|, or if both are NaN or the same infinity; others if
// equal.
Comparison Compare(const NamedTensor& actual, const NamedTensor& expected, double rtol, double atol);

}  // namespace tailor

#endif  // TAILOR_TOOLS_TAILOR_COMPARISON_H_
