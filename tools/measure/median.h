// The figure that stands for many measurements of one thing.
#ifndef TAILOR_TOOLS_MEASURE_MEDIAN_H_
#define TAILOR_TOOLS_MEASURE_MEDIAN_H_

#include <algorithm>
#include <vector>

namespace tailor {

// The upper one of the two in the middle where `values`, not empty, are even in number.
inline double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

}  // namespace tailor

#endif  // TAILOR_TOOLS_MEASURE_MEDIAN_H_
