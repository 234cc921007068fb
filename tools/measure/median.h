// The median of measurements.
#ifndef TAILOR_TOOLS_MEASURE_MEDIAN_H_
#define TAILOR_TOOLS_MEASURE_MEDIAN_H_

#include <algorithm>
#include <vector>

namespace tailor {

// For an even number of values: the larger of the two middle ones. `values` is not empty.
inline double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

}  // namespace tailor

#endif  // TAILOR_TOOLS_MEASURE_MEDIAN_H_
