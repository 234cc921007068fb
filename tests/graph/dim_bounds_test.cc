#include "graph/dim_bounds.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <vector>

namespace tailor {
namespace {

const DimExpr kA = DimExpr::Symbol(0), kB = DimExpr::Symbol(1);

TEST(DimBounds, SymbolsAreNeverNegative) {
  EXPECT_EQ(LowerBound(7), 7);
  EXPECT_EQ(LowerBound(kA * kB * 2 + kA + 3), 3);
  EXPECT_EQ(LowerBound(kA - 4), -4);
  EXPECT_EQ(LowerBound(kA - kB), std::nullopt);
}

TEST(DimBounds, OfOperations) {
  EXPECT_EQ(LowerBound(DimExpr::FloorDiv(kA + kB - 1, 2) + 1), 0);
  EXPECT_EQ(LowerBound(DimExpr::FloorDiv(kA, kB)), 0);
  EXPECT_EQ(LowerBound(DimExpr::FloorDiv(kA - 1, kB)), std::nullopt);
  EXPECT_EQ(LowerBound(DimExpr::Mod(kA - kB, 4)), 0);
  EXPECT_EQ(LowerBound(DimExpr::Max(kA - kB, 2)), 2);
  EXPECT_EQ(LowerBound(DimExpr::Min(kA - 1, 2)), -1);
  EXPECT_EQ(LowerBound(DimExpr::Min(kA - kB, 2)), std::nullopt);
  EXPECT_EQ(LowerBound(DimExpr::Max(kA - 2, -1) * kB), std::nullopt);
}

TEST(DimBounds, OfDifferences) {
  const auto half = [](const DimExpr& e) { return DimExpr::FloorDiv(e, 2); };
  const auto expect = [](const std::optional<DimBounds>& bounds, int64_t min, int64_t max) {
    ASSERT_TRUE(bounds);
    EXPECT_EQ(bounds->min, min);
    EXPECT_EQ(bounds->max, max);
  };
  expect(BoundsOfDifference(half(kA + 1), half(kA)), 0, 1);
  expect(BoundsOfDifference(half(kA) * 2, kA), -1, 0);
  expect(BoundsOfDifference(DimExpr::FloorDiv(kA, 4) * 2, half(kA)), -1, 0);
  EXPECT_FALSE(BoundsOfDifference(half(kA), half(kB)));
  EXPECT_FALSE(BoundsOfDifference(kA, kB));
  EXPECT_FALSE(BoundsOfDifference(half(kA), DimExpr::Min(kA, kB)));
}

// Whatever the symbols are, negative ones too, and however floor divisions and remainders are nested.
TEST(DimBounds, HoldForEveryValueOfTheSymbols) {
  std::mt19937 random(1);
  const auto number = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  std::function<DimExpr(int)> make = [&](int depth) -> DimExpr {
    if (depth == 0) return DimExpr::Symbol(static_cast<SymbolId>(number(0, 1)));
    const DimExpr sum = make(depth - 1) * number(-2, 3) + number(-4, 4);
    return number(0, 2) == 0 ? DimExpr::Mod(sum, number(1, 8)) : DimExpr::FloorDiv(sum, number(1, 8));
  };
  int bounded = 0;
  for (int i = 0; i < 20000; ++i) {
    const DimExpr a = make(3) + make(2), b = make(2) + make(1);
    const std::optional<DimBounds> bounds = BoundsOfDifference(a, b);
    bounded += bounds.has_value();
    for (int j = 0; bounds && j < 20; ++j) {
      const std::vector<int64_t> values = {number(-100, 100), number(-100, 100)};
      const int64_t difference = *a.Evaluate(values) - *b.Evaluate(values);
      ASSERT_LE(bounds->min, difference);
      ASSERT_GE(bounds->max, difference);
    }
  }
  EXPECT_GT(bounded, 500);
}

TEST(DimBounds, BroadcastWithItselfOrOneIsTheDimSize) {
  const DimExpr a = DimExpr::FloorDiv(DimExpr::Symbol(0) + 15, 16), b = DimExpr::Max(a - 1, 0) + 1;
  EXPECT_TRUE(IsAtLeastOne(b, a));
  EXPECT_TRUE(IsAtLeastOne(DimExpr::Max(1, a), a));
  EXPECT_FALSE(IsAtLeastOne(a, b));
  EXPECT_FALSE(IsAtLeastOne(DimExpr::Max(a, 2), a));
  EXPECT_EQ(DimExpr::Bcast(a, b), a);
  EXPECT_NE(DimExpr::Bcast(a, DimExpr::Max(DimExpr::Symbol(1), 9)), a);
  EXPECT_EQ(DimExpr::Bcast(b, a), a);
  EXPECT_EQ(DimExpr::Bcast(DimExpr::Bcast(b, DimExpr::Symbol(1)), a), DimExpr::Bcast(a, DimExpr::Symbol(1)));
}

}  // namespace
}  // namespace tailor
