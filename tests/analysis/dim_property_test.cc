// FactStore against plain arithmetic: random expressions over symbols with random ranges and divisors.
//
// TAILOR_TEST_ALL: 10^6 pairs of expressions, else 20000.
#include <cstdlib>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/fact_store.h"
#include "gtest/gtest.h"
#include "tests/support/random_dim.h"

namespace tailor {
namespace {

// A range and a divisor that `value` has.
SymbolInfo InfoAround(RandomDim& random, std::string name, int64_t value) {
  SymbolInfo info{.name = std::move(name)};
  if (value > 1 && random.Pick(2) == 0) info.multiple_of = value;
  info.min = value - info.multiple_of * random.Pick(static_cast<int>(value / info.multiple_of) + 1);
  info.max = value + info.multiple_of * random.Pick(9);
  return info;
}

// Two expressions over three symbols, their values at values of these, and a store that has ranges and divisors around
// those.
struct RandomCase {
  explicit RandomCase(uint32_t seed) : seed(seed), random(seed) {
    for (int64_t& value : values) value = random.Pick(9);
    for (int i = 0; i < 3; ++i) symbols.push_back(InfoAround(random, std::string(1, "abc"[i]), values[i]));
    std::tie(e, value) = random.Make(4, values);
    std::tie(f, other) = random.Make(2, values);
    valid = value && other && e.valid() && f.valid();
  }

  FactStore Store() const { return FactStore(symbols, {{0, 0, 0}, {1, 0, 1}, {2, 0, 2}}); }

  testing::Message Text() const {
    const auto name = [&](SymbolId id) { return symbols[id].name; };
    return testing::Message() << "seed " << seed << ": " << e.ToText(name) << " and " << f.ToText(name) << " at "
                              << values[0] << ", " << values[1] << ", " << values[2];
  }

  uint32_t seed;
  RandomDim random;
  int64_t values[3];
  std::vector<SymbolInfo> symbols;
  DimExpr e, f;
  std::optional<int64_t> value, other;
  bool valid = false;
};

uint32_t Cases() { return std::getenv("TAILOR_TEST_ALL") != nullptr ? 1000000 : 20000; }

TEST(DimProperty, CanonicalFormsRangesDivisorsAndEqualitiesHold) {
  uint32_t compared = 0, equal = 0, bounded = 0, divided = 0;
  for (uint32_t seed = 0; seed < Cases(); ++seed) {
    const RandomCase c(seed);
    if (!c.valid) continue;
    ++compared;
    const FactStore store = c.Store();
    ASSERT_EQ(store.Canonical(c.e).Evaluate(c.values), *c.value) << c.Text();
    const Range range = store.RangeOf(c.e);
    ASSERT_LE(range.min, *c.value) << c.Text();
    ASSERT_GE(range.max, *c.value) << c.Text();
    const int64_t divisor = store.DivisorOf(c.e);
    ASSERT_EQ(divisor == 0 ? *c.value : *c.value % divisor, 0) << c.Text();
    const bool same = store.ProvablyEqual(c.e, c.f);
    if (same) {
      ASSERT_EQ(*c.value, *c.other) << c.Text();
    }
    equal += same;
    bounded += range.max < INT64_MAX;
    divided += divisor != 1;
  }
  EXPECT_GT(compared, Cases() / 8);
  EXPECT_GT(equal, compared / 200);
  EXPECT_GT(bounded, compared / 2);
  EXPECT_GT(divided, compared / 20);
}

// A bound of an expression bounds its parts: no such bound excludes the values of the symbols.
TEST(DimProperty, WhatFollowsFromBoundsHolds) {
  uint32_t compared = 0, narrowed = 0;
  for (uint32_t seed = 0; seed < Cases(); ++seed) {
    RandomCase c(seed);
    if (!c.valid) continue;
    ++compared;
    FactStore store = c.Store();
    const int64_t below = c.random.Pick(3), above = c.random.Pick(3);
    const Range bound{below == 2 ? INT64_MIN : *c.value - below, above == 2 ? INT64_MAX : *c.value + above};
    ASSERT_TRUE(store.Restrict(c.e, bound)) << c.Text();
    ASSERT_EQ(store.Canonical(c.e).Evaluate(c.values), *c.value) << c.Text();
    ASSERT_EQ(store.Canonical(c.f).Evaluate(c.values), *c.other) << c.Text();
    for (const auto& [what, is] : {std::pair(c.e, *c.value), std::pair(c.f, *c.other)}) {
      ASSERT_LE(store.RangeOf(what).min, is) << c.Text();
      ASSERT_GE(store.RangeOf(what).max, is) << c.Text();
    }
    bool narrower = false;
    for (SymbolId id = 0; id < 3; ++id) {
      const Range range = store.RangeOf(DimExpr::Symbol(id));
      ASSERT_LE(range.min, c.values[id]) << c.Text();
      ASSERT_GE(range.max, c.values[id]) << c.Text();
      narrower = narrower || range.min > c.symbols[id].min || range.max < c.symbols[id].max;
    }
    narrowed += narrower;
  }
  EXPECT_GT(narrowed, compared / 10);
}

}  // namespace
}  // namespace tailor
