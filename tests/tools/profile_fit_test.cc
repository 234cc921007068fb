#include "tools/tune/profile_fit.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tailor::tune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Times of a tile whose costs are known.
TileTimes Times(int rows, int panels, double fixed, double near_step, double far_step) {
  const LinearPieces known{fixed, near_step, far_step, CostProfile::kNearDepth};
  TileTimes times{.rows = rows, .panels = panels};
  for (const double depth : {64, 128, 256, 512, 1024}) times.fitted.push_back({depth, known.At(depth)});
  for (const double depth : {96, 768}) times.held_out.push_back({depth, known.At(depth)});
  return times;
}

TEST(ProfileFit, RecoversKnownCosts) {
  const std::vector<TileFit> fits = FitTiles({Times(6, 4, 30, 5.5, 5.75), Times(1, 2, 0, 1, 1.5)});
  ASSERT_EQ(fits.size(), 2);
  EXPECT_NEAR(fits[0].pieces.fixed, 30, 1e-6);
  EXPECT_NEAR(fits[0].pieces.far_step, 5.75, 1e-8);
  EXPECT_NEAR(fits[1].pieces.near_step, 1, 1e-8);
  EXPECT_LT(fits[0].held_out_error, 1e-9);
}

TEST(ProfileFit, ShowsWhatTheLineMisses) {
  TileTimes bent = Times(6, 4, 30, 5.5, 5.75);
  bent.held_out[1].time *= 1.25;
  const TileFit fit = FitTiles({bent})[0];
  EXPECT_LT(fit.fit_error, 1e-9);
  EXPECT_NEAR(fit.held_out_error, 0.2, 1e-6);
}

// A tile of 4 x 2 that is as fast as two of 2 x 2 wins where it fills up, and loses where half of it is padding.
TEST(ProfileFit, RanksByWholeMatmuls) {
  const std::vector<TileFit> fits = FitTiles({Times(4, 2, 0, 3, 3), Times(2, 2, 0, 2, 2)});
  EXPECT_THAT(RankTiles(fits, {{4, 32, 64}}), ElementsAre(1, testing::DoubleNear(0.75, 1e-9)));
  EXPECT_THAT(RankTiles(fits, {{2, 32, 64}}), ElementsAre(testing::DoubleNear(2.0 / 3, 1e-9), 1));
  EXPECT_THAT(RankTiles(fits, {{4, 32, 64}, {2, 32, 64}}),
              ElementsAre(testing::DoubleNear(5.0 / 6, 1e-9), testing::DoubleNear(0.875, 1e-9)));
  EXPECT_EQ(RankingSizes().size(), 20 * 13 * 9);
}

TEST(ProfileFit, KeepsTheHighestRanks) {
  const std::vector<TileFit> fits = FitTiles({Times(6, 4, 30, 5, 5), Times(1, 1, 1, 1, 1), Times(2, 2, 7, 2, 2)});
  CostProfile base;
  base.margin = 0.125f;
  base.Of(16, 1) = {.fixed = 1, .near_step = 1, .far_step = 1};
  const CostProfile profile = ProfileOf(base, fits, {0.9, 0.1, 0.5}, 2);
  EXPECT_EQ(profile.margin, 0.125f);
  EXPECT_NEAR(profile.Of(6, 4).fixed, 30, 1e-4);
  EXPECT_NEAR(profile.Of(2, 2).near_step, 2, 1e-4);
  EXPECT_EQ(profile.Of(1, 1).fixed, TileCost().fixed);   // not kept
  EXPECT_EQ(profile.Of(16, 1).fixed, TileCost().fixed);  // not measured here
  EXPECT_NEAR(ProfileOf(base, fits, {0.9, 0.1, 0.5}, 0).Of(1, 1).fixed, 1, 1e-4);
}

TEST(ProfileFit, ProfilesSurviveTheirText) {
  const CostProfile profile =
      ProfileOf(CostProfile(), FitTiles({Times(6, 4, 30.25, 5.5, 5.75), Times(1, 2, 0, 1, 1.5)}), {1, 1}, 0);
  CostProfile back;
  EXPECT_EQ(ParseCostProfile(CostProfileText(profile), &back), "");
  EXPECT_EQ(CostProfileText(back), CostProfileText(profile));
  EXPECT_THAT(CostProfileText(back), HasSubstr("tile 6x4 30.25 5.5 5.75\n"));
}

TEST(ProfileFit, PrintsTheHighestRankFirst) {
  const std::string table = FitTable(FitTiles({Times(6, 4, 30, 5.5, 5.75), Times(1, 2, 10, 1, 1.5)}), {0.25, 0.5});
  EXPECT_THAT(table, HasSubstr("| 1x2 | 10.0 | 1.000 | 1.500 | 0.0 % | 0.0 % | 0.500 |\n"
                               "| 6x4 | 30.0 | 5.500 | 5.750 | 0.0 % | 0.0 % | 0.250 |\n"));
}

TEST(ProfileFit, TellsMemoryFromWhatATileHides) {
  StreamTimes times{.depth = 512, .row_panels = 8, .row = 8 * 512 * 2.5, .tile = FitTiles({Times(6, 4, 0, 4, 4)})[0]};
  const double tile = 512 * 4, arrival = 4 * 512 * 2.5;
  CostProfile profile;
  times.two_tiles = tile + arrival;  // the first waits for the panels, the second has them
  FitStream(times, &profile);
  EXPECT_FLOAT_EQ(profile.line_ns, 2.5f);
  EXPECT_FLOAT_EQ(profile.fetch_overlap, 0);
  times.two_tiles -= 0.75 * tile;  // for most of the second the next ones come
  FitStream(times, &profile);
  EXPECT_FLOAT_EQ(profile.fetch_overlap, 0.75f);
  times.two_tiles = 100 * tile;
  FitStream(times, &profile);
  EXPECT_FLOAT_EQ(profile.fetch_overlap, 0);
}

}  // namespace
}  // namespace tailor::tune
