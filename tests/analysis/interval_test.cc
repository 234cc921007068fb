#include "analysis/interval.h"

#include <gtest/gtest.h>

namespace tailor::interval {
namespace {

// All values of the operation over both ranges lie in the result, and its bounds are taken.
template <typename Op>
void ExpectExact(Range a, Range b, Range result, Op op) {
  int64_t min = INT64_MAX, max = INT64_MIN;
  for (int64_t x = a.min; x <= a.max; ++x) {
    for (int64_t y = b.min; y <= b.max; ++y) {
      min = std::min(min, op(x, y));
      max = std::max(max, op(x, y));
    }
  }
  EXPECT_EQ(result, (Range{min, max})) << "[" << a.min << ", " << a.max << "] op [" << b.min << ", " << b.max << "]";
}

int64_t Floor(int64_t a, int64_t b) { return (a - ((a % b + b) % b)) / b; }

TEST(Interval, IsExactOverSmallRanges) {
  for (int64_t low = -4; low <= 4; ++low) {
    for (int64_t size = 0; size <= 5; ++size) {
      Range a{low, low + size};
      for (int64_t b_low = -3; b_low <= 3; ++b_low) {
        Range b{b_low, b_low + 2}, divisor{b_low + 4, b_low + 6};
        ExpectExact(a, b, Add(a, b), [](int64_t x, int64_t y) { return x + y; });
        ExpectExact(a, b, Multiply(a, b), [](int64_t x, int64_t y) { return x * y; });
        ExpectExact(a, divisor, FloorDivide(a, divisor), Floor);
      }
    }
  }
}

TEST(Interval, ModuloHoldsEveryValue) {
  for (int64_t low = -9; low <= 9; ++low) {
    for (int64_t divisor = 1; divisor <= 5; ++divisor) {
      Range result = Modulo({low, low + 3}, {divisor, divisor + 2});
      for (int64_t x = low; x <= low + 3; ++x) {
        for (int64_t d = divisor; d <= divisor + 2; ++d) EXPECT_TRUE(Contains(result, x - Floor(x, d) * d));
      }
    }
  }
  EXPECT_EQ(Modulo({1, 3}, {4, 8}), (Range{1, 3}));
  EXPECT_EQ(Modulo({-1, 100}, {4, 8}), (Range{0, 7}));
}

TEST(Interval, UnboundedStaysUnbounded) {
  Range natural{0, INT64_MAX};
  EXPECT_EQ(Add(natural, Point(-5)), (Range{-5, INT64_MAX}));
  EXPECT_EQ(Multiply(natural, Point(-2)), (Range{INT64_MIN, 0}));
  EXPECT_EQ(Multiply(natural, Point(0)), Point(0));
  EXPECT_EQ(FloorDivide(natural, Point(3)), natural);
  EXPECT_EQ(Modulo(kEverything, natural), natural);
}

TEST(Interval, OverflowBecomesUnbounded) {
  Range large{INT64_MAX / 2, INT64_MAX - 1};
  EXPECT_EQ(Add(large, large).max, INT64_MAX);
  EXPECT_EQ(Multiply(large, Point(3)), Point(INT64_MAX));
  EXPECT_EQ(Multiply(large, Point(-3)), Point(INT64_MIN));
}

TEST(Interval, IntersectionMayBeEmpty) {
  EXPECT_EQ(Intersect({0, 5}, {3, 9}), (Range{3, 5}));
  EXPECT_TRUE(IsEmpty(Intersect({0, 2}, {3, 9})));
}

TEST(Interval, BoundsRoundOutwards) {
  EXPECT_EQ(FloorDivideBound(-7, 2), -4);
  EXPECT_EQ(CeilDivideBound(-7, 2), -3);
  EXPECT_EQ(CeilDivideBound(7, 2), 4);
  EXPECT_EQ(FloorDivideBound(INT64_MAX, 2), INT64_MAX);
  EXPECT_EQ(CeilDivideBound(INT64_MIN, 2), INT64_MIN);
}

}  // namespace
}  // namespace tailor::interval
