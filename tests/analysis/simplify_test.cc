// Mirrors analysis/simplify.cc: FactStore::Canonical.
#include <gtest/gtest.h>

#include "tests/analysis/sampled_dims.h"

namespace tailor {
namespace {

const char kSymbols[] = R"(
graph @g(%x: f32[S, T, U, V]) where S in [2, 100], T in [0, 7], U in [0, 64] multiple_of 8, V in [3, 3] {
  return %x
}
)";

TEST(Simplify, RangesSettleMinMaxAndBcast) {
  ParsedFacts f(kSymbols);
  EXPECT_EQ(f.Canonical("min(S, T + 100)"), "S");
  EXPECT_EQ(f.Canonical("max(S, 1)"), "S");
  EXPECT_EQ(f.Canonical("max(S, 3)"), "max(S, 3)");
  EXPECT_EQ(f.Canonical("min(min(S, T), T + 1)"), "min(S, T)");
  EXPECT_EQ(f.Canonical("bcast(S, T)"), "S");
  EXPECT_EQ(f.Canonical("bcast(T, U)"), "bcast(T, U)");
}

TEST(Simplify, OneValueIsAConstant) {
  ParsedFacts f(kSymbols);
  EXPECT_EQ(f.Canonical("V*S + V"), "3*S + 3");
  EXPECT_EQ(f.Canonical("min(T, 0)"), "0");
}

TEST(Simplify, DivisorsAndRangesSettleDivisions) {
  ParsedFacts f(kSymbols);
  EXPECT_EQ(f.Canonical("mod(U, 8)"), "0");
  EXPECT_EQ(f.Canonical("mod(U + 3, 8)"), "3");
  EXPECT_EQ(f.Canonical("mod(S + U, 8)"), "mod(S, 8)");
  EXPECT_EQ(f.Canonical("mod(T, 8)"), "T");
  EXPECT_EQ(f.Canonical("floordiv(T, 8)"), "0");
  EXPECT_EQ(f.Canonical("floordiv(U + 7, 8)"), "floordiv(U, 8)");
  EXPECT_EQ(f.Canonical("floordiv(U + T, 8)"), "floordiv(U, 8)");
  EXPECT_EQ(f.Canonical("16*floordiv(U, 8) + 1"), "2*U + 1");
  EXPECT_EQ(f.Canonical("floordiv(T, S + 6)"), "0");
  EXPECT_EQ(f.Canonical("mod(T, S + 6)"), "T");
}

TEST(Simplify, WithoutFactsNothingChanges) {
  ParsedFacts f("graph @g(%x: f32[S, T]) {\n  return %x\n}\n");
  for (const char* text : {"S*T + 3", "bcast(S, T)", "min(S, T)", "floordiv(S, 4)", "mod(S*T, 8)"}) {
    EXPECT_EQ(f.Canonical(text), text);
  }
}

TEST(Simplify, CanonicalPreservesEveryValue) {
  int compared = 0, changed = 0;
  ForEachDimCase(1, [&](const ParsedFacts& f, const DimCase& c) {
    DimExpr canonical = f.facts.Canonical(c.e);
    changed += canonical != c.e;
    for (const std::vector<int64_t>& symbols : c.shapes) {
      std::optional<int64_t> value = ValueOf(c.e, symbols);
      if (!value) continue;
      ++compared;
      ASSERT_EQ(canonical.Evaluate(symbols), value)
          << f.graph.ToText() << f.graph.DimText(c.e) << " became " << f.graph.DimText(canonical);
    }
  });
  EXPECT_GT(compared, 10000);
  EXPECT_GT(changed, 500);
}

}  // namespace
}  // namespace tailor
