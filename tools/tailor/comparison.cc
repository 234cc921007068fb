#include "tools/tailor/comparison.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <span>

#include "graph/element.h"
#include "serialization/integrity.h"

namespace tailor {
namespace {

const char* ElementAt(const NamedTensor& tensor, int64_t index) {
  return tensor.bytes.data() + index * SizeOf(tensor.dtype);
}

// "[1, 2]" for element 5 of a [2, 3].
std::string IndexText(const NamedTensor& tensor, int64_t index) {
  std::string text;
  for (size_t i = tensor.dims.size(); i-- > 0;) {
    text = std::to_string(index % tensor.dims[i]) + (text.empty() ? "" : ", ") + text;
    index /= tensor.dims[i];
  }
  return "[" + text + "]";
}

// |actual - expected|; infinity if only one is NaN, or for unequal infinities.
double Difference(double actual, double expected) {
  if (actual == expected || (std::isnan(actual) && std::isnan(expected))) return 0;
  const double difference = std::fabs(actual - expected);
  return std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference;
}

}  // namespace

Statistics StatisticsOf(const NamedTensor& tensor) {
  Statistics statistics;
  double sum = 0;
  int64_t numbers = 0;
  for (int64_t i = 0; i < tensor.count(); ++i) {
    const double value = ElementToDouble(tensor.dtype, ElementAt(tensor, i));
    if (std::isnan(value)) {
      ++statistics.nans;
      continue;
    }
    statistics.min = numbers == 0 ? value : std::min(statistics.min, value);
    statistics.max = numbers == 0 ? value : std::max(statistics.max, value);
    sum += value;
    ++numbers;
  }
  if (numbers > 0) statistics.mean = sum / static_cast<double>(numbers);
  return statistics;
}

std::string HashText(const NamedTensor& tensor) {
  const Hash hash = HashOf(std::as_bytes(std::span(tensor.bytes)));
  std::string text;
  for (size_t i = 0; i < 8; ++i) {
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x", hash[i]);
    text += digits;
  }
  return text;
}

Comparison Compare(const NamedTensor& actual, const NamedTensor& expected, double rtol, double atol) {
  if (actual.dtype != expected.dtype || actual.dims != expected.dims) {
    return {-1, 0, "is " + actual.type() + ", expected " + expected.type()};
  }
  Comparison result;
  int64_t worst = 0;
  double worst_excess = -std::numeric_limits<double>::infinity();
  for (int64_t i = 0; i < actual.count(); ++i) {
    const char *a = ElementAt(actual, i), *e = ElementAt(expected, i);
    if (std::memcmp(a, e, SizeOf(actual.dtype)) == 0) continue;
    const double is = ElementToDouble(actual.dtype, a), should_be = ElementToDouble(expected.dtype, e);
    const double difference = Difference(is, should_be);
    const double tolerance = std::isfinite(should_be) ? atol + rtol * std::fabs(should_be) : 0;
    result.max_difference = std::max(result.max_difference, difference);
    if (IsFloat(actual.dtype) && difference <= tolerance) continue;
    ++result.differing;
    if (difference - tolerance > worst_excess) worst = i, worst_excess = difference - tolerance;
  }
  if (result.matches()) return result;
  result.message = std::to_string(result.differing) + " of " + std::to_string(actual.count()) +
                   " elements differ, most at " + IndexText(actual, worst) + ": " +
                   ElementText(actual.dtype, ElementAt(actual, worst)) + ", expected " +
                   ElementText(expected.dtype, ElementAt(expected, worst));
  return result;
}

}  // namespace tailor
