#include "tools/tailor/figures.h"

#include <cmath>
#include <cstdio>
#include <iterator>

namespace tailor {
namespace {

// The digits after the point that make three significant ones of `number`, which is >= 1.
int DecimalsOf(double number) { return number < 9.995 ? 2 : number < 99.95 ? 1 : 0; }

// `number` in the largest unit in which it is at least 1.
template <size_t kCount>
std::string InUnits(double number, double step, const char* const (&units)[kCount]) {
  size_t unit = 0;
  while (unit + 1 < kCount && number >= step * 0.9995) number /= step, ++unit;
  char text[64];
  std::snprintf(text, sizeof(text), "%.*f %s", unit == 0 ? 0 : DecimalsOf(number), number, units[unit]);
  return text;
}

}  // namespace

std::string TimeText(double seconds) {
  constexpr const char* kUnits[] = {"ns", "us", "ms", "s"};
  return InUnits(seconds * 1e9, 1000, kUnits);
}

std::string ByteText(int64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  return InUnits(static_cast<double>(bytes), 1024, kUnits);
}

std::string NumberText(double number) {
  char text[64];
  if (number == 0 || !std::isfinite(number)) {
    std::snprintf(text, sizeof(text), "%g", number);
    return text;
  }
  const int magnitude = static_cast<int>(std::floor(std::log10(std::fabs(number))));
  if (magnitude < -4 || magnitude > 14) {
    std::snprintf(text, sizeof(text), "%.2e", number);
  } else {
    std::snprintf(text, sizeof(text), "%.*f", magnitude >= 2 ? 0 : 2 - magnitude, number);
  }
  return text;
}

std::string RateText(double number) {
  std::string text = NumberText(number);
  const bool whole = text.find_first_not_of("0123456789") == std::string::npos;
  for (size_t at = text.size(); whole && at > 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

}  // namespace tailor
