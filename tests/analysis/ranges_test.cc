// Mirrors analysis/ranges.cc: FactStore::RangeOf and DivisorOf.
#include <gtest/gtest.h>

#include "tests/analysis/sampled_dims.h"

namespace tailor {
namespace {

const char kSymbols[] = R"(
graph @g(%x: f32[S, T, U]) where S in [2, 100], T in [0, 7], U in [0, 64] multiple_of 8 {
  return %x
}
)";

TEST(Ranges, OfPolynomials) {
  ParsedFacts f(kSymbols);
  EXPECT_EQ(f.RangeOf("S*T - 3"), (Range{-3, 697}));
  EXPECT_EQ(f.RangeOf("4*S - T"), (Range{1, 400}));
  EXPECT_EQ(f.RangeOf("7"), (Range{7, 7}));
}

TEST(Ranges, OfAtoms) {
  ParsedFacts f(kSymbols);
  EXPECT_EQ(f.RangeOf("floordiv(S, 8)"), (Range{0, 12}));
  EXPECT_EQ(f.RangeOf("mod(S, 8)"), (Range{0, 7}));
  EXPECT_EQ(f.RangeOf("min(S, T)"), (Range{0, 7}));
  EXPECT_EQ(f.RangeOf("max(S, T)"), (Range{2, 100}));
  EXPECT_EQ(f.RangeOf("bcast(T, U)"), (Range{0, 64}));
}

TEST(Ranges, FloorDivisionsAreComparedAsFractions) {
  ParsedFacts f(kSymbols);
  EXPECT_EQ(f.RangeOf("2*floordiv(S, 2) - S"), (Range{-1, 0}));
  EXPECT_EQ(f.RangeOf("floordiv(S + T, 8) - floordiv(S, 8)"), (Range{0, 1}));
}

TEST(Ranges, LargeProductsAreUnbounded) {
  ParsedFacts f("graph @g(%x: f32[S, T, U]) {\n  return %x\n}\n");
  EXPECT_EQ(f.RangeOf("S*T*U"), (Range{0, INT64_MAX}));
  EXPECT_EQ(f.RangeOf("0 - S*T*U"), (Range{INT64_MIN, 0}));
}

TEST(Ranges, DivisorsOfTermsMultiply) {
  ParsedFacts f(kSymbols);
  EXPECT_EQ(f.facts.LargestKnownDivisor(f.Dim("U")), 8);
  EXPECT_EQ(f.facts.LargestKnownDivisor(f.Dim("6*U*U")), 384);
  EXPECT_EQ(f.facts.LargestKnownDivisor(f.Dim("6*U + 4*S")), 4);
  EXPECT_EQ(f.facts.LargestKnownDivisor(f.Dim("floordiv(3*U, 4)")), 6);
  EXPECT_EQ(f.facts.LargestKnownDivisor(f.Dim("max(2*S, U)")), 2);
  EXPECT_EQ(f.facts.LargestKnownDivisor(f.Dim("S")), 1);
  EXPECT_TRUE(f.facts.ProvablyDivisible(f.Dim("S*U + 384"), 8));
  EXPECT_FALSE(f.facts.ProvablyDivisible(f.Dim("S*U + 4"), 8));
  EXPECT_FALSE(f.facts.ProvablyDivisible(f.Dim("S"), 0));
}

TEST(Ranges, ZeroIsDivisibleByEverything) {
  ParsedFacts f(kSymbols);
  EXPECT_TRUE(f.facts.ProvablyDivisible(0, 12));
  EXPECT_EQ(f.facts.LargestKnownDivisor(0) % 4096, 0);
}

TEST(Ranges, FactsOfAProduct) {
  ParsedFacts f(R"(
graph @g(%x: f32[B, S]) where M in [4, 512] multiple_of 16, M == B*S {
  return %x
}
)");
  EXPECT_EQ(f.RangeOf("B*S"), (Range{16, 512}));  // the least multiple of 16
  EXPECT_EQ(f.RangeOf("2*B*S + 1"), (Range{33, 1025}));
  EXPECT_EQ(f.facts.LargestKnownDivisor(f.Dim("3*B*S")), 48);
}

TEST(Ranges, HoldEveryValueAndDivisorsDivideIt) {
  int compared = 0;
  ForEachDimCase(2, [&](const ParsedFacts& f, const DimCase& c) {
    Range range = f.facts.RangeOf(c.e);
    int64_t divisor = f.facts.LargestKnownDivisor(c.e);
    for (const std::vector<int64_t>& symbols : c.shapes) {
      std::optional<int64_t> value = ValueOf(c.e, symbols);
      if (!value) continue;
      ++compared;
      ASSERT_TRUE(range.min <= *value && *value <= range.max) << f.graph.ToText() << f.graph.DimText(c.e);
      ASSERT_EQ(*value % divisor, 0) << f.graph.ToText() << f.graph.DimText(c.e);
    }
  });
  EXPECT_GT(compared, 10000);
}

}  // namespace
}  // namespace tailor
