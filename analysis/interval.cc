#include "analysis/interval.h"

#include <algorithm>

namespace tailor::interval {
namespace {

bool IsInfinite(int64_t bound) { return bound == INT64_MIN || bound == INT64_MAX; }

int64_t AddBounds(int64_t a, int64_t b) {
  if (IsInfinite(a)) return a;
  if (IsInfinite(b)) return b;
  int64_t sum;
  if (__builtin_add_overflow(a, b, &sum)) return a < 0 ? INT64_MIN : INT64_MAX;
  return sum;
}

int64_t MultiplyBounds(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  int64_t product;
  if (IsInfinite(a) || IsInfinite(b) || __builtin_mul_overflow(a, b, &product)) {
    return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
  }
  return product;
}

}  // namespace

int64_t FloorDivideBound(int64_t value, int64_t divisor) {
  if (IsInfinite(value)) return value;
  return value / divisor - (value % divisor < 0 ? 1 : 0);
}

int64_t CeilDivideBound(int64_t value, int64_t divisor) {
  if (IsInfinite(value)) return value;
  return value / divisor + (value % divisor > 0 ? 1 : 0);
}

Range Add(Range a, Range b) { return {AddBounds(a.min, b.min), AddBounds(a.max, b.max)}; }

Range Multiply(Range a, Range b) {
  auto [low, high] = std::minmax({MultiplyBounds(a.min, b.min), MultiplyBounds(a.min, b.max),
                                  MultiplyBounds(a.max, b.min), MultiplyBounds(a.max, b.max)});
  return {low, high};
}

Range FloorDivide(Range a, Range divisor) {
  int64_t low = std::max<int64_t>(divisor.min, 1), high = std::max(divisor.max, low);
  return {FloorDivideBound(a.min, a.min < 0 ? low : high), FloorDivideBound(a.max, a.max < 0 ? high : low)};
}

Range Modulo(Range a, Range divisor) {
  int64_t low = std::max<int64_t>(divisor.min, 1), high = std::max(divisor.max, low);
  if (a.min >= 0 && a.max < low) return a;
  int64_t max = high == INT64_MAX ? high : high - 1;
  return {0, a.min >= 0 ? std::min(max, a.max) : max};
}

Range Intersect(Range a, Range b) { return {std::max(a.min, b.min), std::min(a.max, b.max)}; }

}  // namespace tailor::interval
