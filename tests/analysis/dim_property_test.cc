// FactStore against plain arithmetic: random expressions over symbols with random ranges and divisors.
//
// TAILOR_TEST_ALL: 10^6 pairs of expressions, else 20000.
#include <cstdlib>
#include <vector>

#include "analysis/fact_store.h"
#include "gtest/gtest.h"
#include "tests/support/random_dim.h"

namespace tailor {
namespace {

// A range and a divisor that `value` has.
SymbolInfo InfoAround(RandomDim& random, const char* name, int64_t value) {
  SymbolInfo info{.name = name};
  if (value > 1 && random.Pick(2) == 0) info.multiple_of = value;
  info.min = value - info.multiple_of * random.Pick(static_cast<int>(value / info.multiple_of) + 1);
  info.max = value + info.multiple_of * random.Pick(9);
  return info;
}

TEST(DimProperty, CanonicalFormsRangesDivisorsAndEqualitiesHold) {
  const uint32_t count = std::getenv("TAILOR_TEST_ALL") != nullptr ? 1000000 : 20000;
  uint32_t compared = 0, equal = 0, bounded = 0, divided = 0;
  for (uint32_t seed = 0; seed < count; ++seed) {
    RandomDim random(seed);
    const int64_t values[] = {random.Pick(9), random.Pick(9), random.Pick(9)};
    const std::vector<SymbolInfo> symbols = {InfoAround(random, "a", values[0]), InfoAround(random, "b", values[1]),
                                             InfoAround(random, "c", values[2])};
    const auto [e, value] = random.Make(4, values);
    const auto [f, other] = random.Make(2, values);
    if (!value || !other || !e.valid() || !f.valid()) continue;
    ++compared;
    const FactStore store(symbols, {{0, 0, 0}, {1, 0, 1}, {2, 0, 2}});
    const auto text = [&] {
      const auto name = [&](SymbolId id) { return symbols[id].name; };
      return ::testing::Message() << "seed " << seed << ": " << e.ToText(name) << " and " << f.ToText(name) << " at "
                                  << values[0] << ", " << values[1] << ", " << values[2];
    };
    ASSERT_EQ(store.Canonical(e).Evaluate(values), *value) << text();
    const Range range = store.RangeOf(e);
    ASSERT_LE(range.min, *value) << text();
    ASSERT_GE(range.max, *value) << text();
    const int64_t divisor = store.DivisorOf(e);
    ASSERT_EQ(divisor == 0 ? *value : *value % divisor, 0) << text();
    const bool same = store.ProvablyEqual(e, f);
    if (same) {
      ASSERT_EQ(*value, *other) << text();
    }
    equal += same;
    bounded += range.max < INT64_MAX;
    divided += divisor != 1;
  }
  EXPECT_GT(compared, count / 8);
  EXPECT_GT(equal, compared / 200);
  EXPECT_GT(bounded, compared / 2);
  EXPECT_GT(divided, compared / 20);
}

// A bound of an expression bounds its parts: none that excludes the values at which the expression is within it.
TEST(DimProperty, WhatFollowsFromBoundsHolds) {
  const uint32_t count = std::getenv("TAILOR_TEST_ALL") != nullptr ? 1000000 : 20000;
  uint32_t compared = 0, narrowed = 0;
  for (uint32_t seed = 0; seed < count; ++seed) {
    RandomDim random(seed);
    const int64_t values[] = {random.Pick(9), random.Pick(9), random.Pick(9)};
    const std::vector<SymbolInfo> symbols = {InfoAround(random, "a", values[0]), InfoAround(random, "b", values[1]),
                                             InfoAround(random, "c", values[2])};
    const auto [e, value] = random.Make(4, values);
    const auto [f, other] = random.Make(2, values);
    if (!value || !other || !e.valid() || !f.valid()) continue;
    ++compared;
    FactStore store(symbols, {{0, 0, 0}, {1, 0, 1}, {2, 0, 2}});
    const int64_t below = random.Pick(3), above = random.Pick(3);
    const Range bound{below == 2 ? INT64_MIN : *value - below, above == 2 ? INT64_MAX : *value + above};
    const auto text = [&] {
      const auto name = [&](SymbolId id) { return symbols[id].name; };
      return ::testing::Message() << "seed " << seed << ": " << e.ToText(name) << " in [" << bound.min << ", "
                                  << bound.max << "], " << f.ToText(name) << " at " << values[0] << ", " << values[1]
                                  << ", " << values[2];
    };
    ASSERT_TRUE(store.Restrict(e, bound)) << text();
    ASSERT_EQ(store.Canonical(e).Evaluate(values), *value) << text();
    ASSERT_EQ(store.Canonical(f).Evaluate(values), *other) << text();
    for (const auto& [what, is] : {std::pair(e, *value), std::pair(f, *other)}) {
      ASSERT_LE(store.RangeOf(what).min, is) << text();
      ASSERT_GE(store.RangeOf(what).max, is) << text();
    }
    bool narrower = false;
    for (SymbolId id = 0; id < 3; ++id) {
      const Range range = store.RangeOf(DimExpr::Symbol(id));
      ASSERT_LE(range.min, values[id]) << text();
      ASSERT_GE(range.max, values[id]) << text();
      narrower = narrower || range.min > symbols[id].min || range.max < symbols[id].max;
    }
    narrowed += narrower;
  }
  EXPECT_GT(narrowed, compared / 10);
}

}  // namespace
}  // namespace tailor
