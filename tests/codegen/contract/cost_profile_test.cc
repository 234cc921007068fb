// Mirrors codegen/contract/cost_profile.cc and built_in_costs.cc.
#include "codegen/contract/cost_profile.h"

#include "gtest/gtest.h"

namespace tailor {
namespace {

TEST(CostProfile, TextIsReadBack) {
  CostProfile profile;
  ASSERT_EQ(ParseCostProfile("# of a machine\n\nline 4.25\r\n  tile 6x4 11.5 4.125 4.3 # widest\nmargin 0.5", &profile),
            "");
  EXPECT_EQ(profile.line_ns, 4.25f);
  EXPECT_EQ(profile.margin, 0.5f);
  EXPECT_EQ(profile.cached_bytes, CostProfile().cached_bytes);
  EXPECT_EQ(profile.Of(6, 4).fixed, 11.5f);
  EXPECT_EQ(profile.Of(6, 4).far_step, 4.3f);
  EXPECT_EQ(profile.Of(4, 6).fixed, TileCost().fixed);
  const std::string text = CostProfileText(profile);
  EXPECT_EQ(
      text,
      "cached_bytes 1048576\nline 4.25\nhidden 0\ntask 0\nregion 0\nmargin 0.5\nahead 64\ntile 6x4 11.5 4.125 4.3\n");
  CostProfile again;
  ASSERT_EQ(ParseCostProfile(text, &again), "");
  EXPECT_EQ(CostProfileText(again), text);
}

TEST(CostProfile, MistakesAreNamedAndChangeNothing) {
  CostProfile profile;
  profile.line_ns = 7;
  const auto wrong = [&](std::string_view text) { return ParseCostProfile(text, &profile); };
  EXPECT_EQ(wrong("line 1\nlime 2"), "line 2: unknown entry \"lime\"");
  EXPECT_EQ(wrong("line fast"), "line 1: line is a number, not negative");
  EXPECT_EQ(wrong("line -1"), "line 1: line is a number, not negative");
  EXPECT_EQ(wrong("line nan"), "line 1: line is a number, not negative");
  EXPECT_EQ(wrong("line"), "line 1: line is a number, not negative");
  EXPECT_EQ(wrong("line 1\nahead 16384"), "line 2: ahead is a whole number below 16384");
  EXPECT_EQ(wrong("ahead 0.5"), "line 1: ahead is a whole number below 16384");
  EXPECT_EQ(wrong("line 1 2"), "line 1: more on the line than belongs there");
  for (const char* tile : {"tile 17x1 1 1 1", "tile 1x9 1 1 1", "tile 0x1 1 1 1", "tile 6 1 1 1", "tile 6x 1 1 1"}) {
    EXPECT_EQ(wrong(tile), "line 1: a tile is at most 16x8, as in \"tile 6x4 ...\"") << tile;
  }
  EXPECT_EQ(wrong("tile 6x4 1 1"), "line 1: a tile has three costs, none negative");
  EXPECT_EQ(wrong("tile 6x4 1 1 inf"), "line 1: a tile has three costs, none negative");
  EXPECT_EQ(profile.line_ns, 7);
}

TEST(BuiltInCostProfile, KnowsTheTilesOfEachLevel) {
  const float unknown = TileCost().fixed;
  EXPECT_LT(BuiltInCostProfile("x86-64-v4").Of(6, 4).fixed, unknown);
  EXPECT_LT(BuiltInCostProfile("x86-64-v4").Of(12, 2).fixed, unknown);
  EXPECT_LT(BuiltInCostProfile("x86-64-v3").Of(6, 1).fixed, unknown);
  EXPECT_EQ(BuiltInCostProfile("x86-64-v3").Of(6, 4).fixed, unknown);
  EXPECT_LT(BuiltInCostProfile("x86-64-v2").Of(2, 1).fixed, unknown);
  EXPECT_EQ(&BuiltInCostProfile("x86-64-v4+avx512bf16"), &BuiltInCostProfile("x86-64-v4"));
}

TEST(BuiltInCostProfile, HasTablesOfMachines) {
  const CostProfile& zen4 = BuiltInCostProfile("x86-64-v4+avx512bf16", "AuthenticAMD 25");
  EXPECT_EQ(zen4.prefetch_distance, 0);
  EXPECT_TRUE(zen4.Of(8, 3).known());
  EXPECT_FALSE(zen4.Of(12, 2).known());
  const CostProfile& zen5 = BuiltInCostProfile("x86-64-v4", "AuthenticAMD 26");
  EXPECT_LT(zen5.Of(6, 4).far_step, 0.6 * zen4.Of(6, 4).far_step);  // twice as wide units
  EXPECT_FALSE(zen5.Of(12, 2).known());
  EXPECT_EQ(&BuiltInCostProfile("x86-64-v4", "GenuineIntel 6"), &BuiltInCostProfile("x86-64-v4"));
  const CostProfile& zen3 = BuiltInCostProfile("x86-64-v3", "AuthenticAMD 25");
  EXPECT_GT(zen3.Of(1, 1).far_step, 0.6 * zen3.Of(6, 1).far_step);  // reading a panel takes as long as four rows
  EXPECT_EQ(&BuiltInCostProfile("x86-64-v3", "GenuineIntel 6"), &BuiltInCostProfile("x86-64-v3"));
  EXPECT_EQ(&BuiltInCostProfile("x86-64-v2", "AuthenticAMD 25"), &BuiltInCostProfile("x86-64-v2"));
}

}  // namespace
}  // namespace tailor
