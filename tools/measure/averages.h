// Averages of measurements.
#ifndef TAILOR_TOOLS_MEASURE_AVERAGES_H_
#define TAILOR_TOOLS_MEASURE_AVERAGES_H_

#include <algorithm>
#include <cmath>
#include <vector>

namespace tailor {

// For an even number of values: the larger of the two middle ones. `values` is not empty.
inline double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

// `values` is not empty; all are above 0.
inline double GeometricMean(const std::vector<double>& values) {
  double logarithms = 0;
  for (const double value : values) logarithms += std::log(value);
  return std::exp(logarithms / static_cast<double>(values.size()));
}

}  // namespace tailor

#endif  // TAILOR_TOOLS_MEASURE_AVERAGES_H_
