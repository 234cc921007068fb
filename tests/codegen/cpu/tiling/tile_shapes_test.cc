// Mirrors codegen/cpu/tiling/tile_shapes.cc.
#include "codegen/cpu/tiling/tile_shapes.h"

#include "codegen/link/target_machine.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tailor::gemm {
namespace {

using testing::Pair;
using testing::UnorderedElementsAre;

constexpr DimSizeRange kAny = {.max = INT64_MAX, .divisor = 1, .fixed = false};
constexpr ContractionTile kTaskTile = {.rows = 6, .panels = 4, .task_rows = 48, .task_panels = 4};

constexpr ContractionTile kTallTile = {
    .rows = 6, .panels = 4, .tall_rows = 9, .tall_panels = 3, .task_rows = 48, .task_panels = 4};

DimSizeRange Fixed(int64_t dim_size) { return {.max = dim_size, .divisor = 1, .fixed = true}; }

TEST(BestTile, FillsTheRegisters) {
  EXPECT_THAT(BestTile(FindCpuTarget("x86-64-v4")->traits, 1), Pair(6, 4));
  EXPECT_THAT(BestTile(FindCpuTarget("x86-64-v4")->traits, 2), Pair(6, 2));
  EXPECT_THAT(BestTile(FindCpuTarget("x86-64-v3")->traits, 2), Pair(6, 1));
  EXPECT_THAT(BestTile(FindCpuTarget("x86-64-v3")->traits, 4), Pair(2, 1));
  EXPECT_THAT(BestTile(FindCpuTarget("x86-64-v2")->traits, 4), Pair(2, 1));
  EXPECT_THAT(BestTile(FindCpuTarget("x86-64-v2")->traits, 8), Pair(1, 1));
}

TEST(BestTile, OnePanelTakesRowsForEightChains) {
  EXPECT_THAT(BestTile(FindCpuTarget("x86-64-v4")->traits, 1, 1), Pair(8, 1));
  EXPECT_THAT(BestTile(FindCpuTarget("x86-64-v3")->traits, 1, 1), Pair(8, 1));  // at most 8 columns
  EXPECT_THAT(BestTile(FindCpuTarget("x86-64-v3")->traits, 2, 1), Pair(6, 1));
}

TEST(PiecesOf, AreTheRegistersOfColumnsThatExist) {
  EXPECT_EQ(PiecesOf(Fixed(100), 8), 2);
  EXPECT_EQ(PiecesOf(Fixed(9), 8), 2);
  EXPECT_EQ(PiecesOf(Fixed(8), 8), 1);
  EXPECT_EQ(PiecesOf(Fixed(5), 4), 2);
  EXPECT_EQ(PiecesOf(Fixed(0), 8), 1);
  EXPECT_EQ(PiecesOf({.max = 1000, .divisor = 1, .fixed = false}, 8), 2);
}

TEST(TallestTile, HasTwoMultiplyAddsPerLoad) {
  EXPECT_THAT(TallestTile(FindCpuTarget("x86-64-v4")->traits, 1, kTaskTile), Pair(9, 3));
  EXPECT_THAT(TallestTile(FindCpuTarget("x86-64-v4")->traits, 2, {.rows = 6, .panels = 2}), Pair(0, 0));
  EXPECT_THAT(TallestTile(FindCpuTarget("x86-64-v3")->traits, 2, {.rows = 6, .panels = 1}), Pair(0, 0));
}

TEST(PanelsForRows, GivesFewRowsMoreChains) {
  const ContractionTile narrow = {.rows = 6, .panels = 1, .task_rows = 48, .task_panels = 4};
  EXPECT_EQ(PanelsForRows(narrow, 2, 1), 4);
  EXPECT_EQ(PanelsForRows(narrow, 2, 2), 2);
  EXPECT_EQ(PanelsForRows(narrow, 2, 6), 1);
  EXPECT_EQ(PanelsForRows(kTaskTile, 1, 1), 4) << "not more than a task has";
}

TEST(ReachableTiles, AreFewForFixedDimSizes) {
  EXPECT_THAT(ReachableTiles(Fixed(7), Fixed(96), kTaskTile, 1), UnorderedElementsAre(Pair(3, 3), Pair(4, 3)));
  EXPECT_THAT(ReachableTiles(Fixed(12), Fixed(1), kTaskTile, 1), UnorderedElementsAre(Pair(6, 1)));
  EXPECT_TRUE(ReachableTiles(Fixed(0), kAny, kTaskTile, 1).empty());
}

TEST(RowLimit, IsTallWhereThatSavesATile) {
  for (const int64_t m : {7, 8, 9, 13, 16, 18}) EXPECT_EQ(RowLimit(kTallTile, m), 9) << m;
  for (const int64_t m : {0, 1, 6, 10, 12, 19, 26, 1000}) EXPECT_EQ(RowLimit(kTallTile, m), 6) << m;
  EXPECT_EQ(RowLimit(kTaskTile, 7), 6);
}

TEST(ReachableTiles, TallOnesServeFewRows) {
  EXPECT_THAT(ReachableTiles(Fixed(7), Fixed(96), kTallTile, 1), UnorderedElementsAre(Pair(7, 3)));
  EXPECT_THAT(ReachableTiles(Fixed(9), Fixed(64), kTallTile, 1), UnorderedElementsAre(Pair(9, 2)));
  EXPECT_THAT(ReachableTiles(Fixed(10), Fixed(64), kTallTile, 1), UnorderedElementsAre(Pair(5, 4)));
  EXPECT_THAT(ReachableTiles(Fixed(13), Fixed(48), kTallTile, 1), UnorderedElementsAre(Pair(6, 3), Pair(7, 3)));
  EXPECT_EQ(ReachableTiles(kAny, Fixed(384), kTallTile, 1).size(), 10);
}

TEST(ReachableTiles, UseWhatIsKnown) {
  EXPECT_EQ(ReachableTiles(kAny, kAny, kTaskTile, 1).size(), 24);
  EXPECT_EQ(ReachableTiles(kAny, Fixed(384), kTaskTile, 1).size(), 6);
  const DimSizeRange sixes = {.max = 600, .divisor = 6, .fixed = false};
  const DimSizeRange one_panel = {.max = 16, .divisor = 1, .fixed = false};
  EXPECT_THAT(ReachableTiles(sixes, one_panel, kTaskTile, 1), UnorderedElementsAre(Pair(6, 1)));
}

TEST(ReachableTiles, ThoseOfOtherTilings) {
  ContractionTile tile = kTaskTile;
  tile.tilings = {{.rows = 12, .panels = 2, .least_m = 7, .most_m = 24}};
  const DimSizeRange columns = Fixed(384);
  EXPECT_THAT(ReachableTiles(Fixed(11), columns, tile, 1), UnorderedElementsAre(Pair(5, 4), Pair(6, 4), Pair(11, 2)));
  EXPECT_THAT(ReachableTiles(Fixed(6), columns, tile, 1), UnorderedElementsAre(Pair(6, 4)));
  EXPECT_THAT(ReachableTiles(Fixed(25), columns, tile, 1), UnorderedElementsAre(Pair(5, 4)));
  EXPECT_EQ(ReachableTiles(kAny, columns, tile, 1).size(), 6 + 7) << "7 to 12 rows, and 6 of 13";
  tile.tilings = {{.rows = 6, .panels = 4, .whole_rows = true, .whole_panels = true}};
  EXPECT_THAT(ReachableTiles(Fixed(13), Fixed(5 * 16), tile, 1),
              UnorderedElementsAre(Pair(4, 2), Pair(4, 3), Pair(5, 2), Pair(5, 3), Pair(6, 4), Pair(6, 1), Pair(1, 4),
                                   Pair(1, 1)));
}

// Every tile of every pair of dim sizes is among those emitted.
TEST(ReachableTiles, CoverEveryDimSize) {
  const ContractionTile much_taller = {.rows = 2, .panels = 4, .tall_rows = 14, .tall_panels = 1, .task_panels = 8};
  for (const ContractionTile& limits : {kTaskTile, kTallTile, much_taller}) {
    const std::set<std::pair<int, int>> tiles = ReachableTiles(kAny, kAny, limits, 1);
    const std::set<std::pair<int, int>> of_13_panels = ReachableTiles(kAny, Fixed(208), limits, 1);
    for (int64_t m = 1; m < 200; ++m) {
      for (const auto& tile : ReachableTiles(Fixed(m), Fixed(m * 7), limits, 1)) EXPECT_TRUE(tiles.contains(tile)) << m;
      for (const auto& tile : ReachableTiles(Fixed(m), Fixed(208), limits, 1)) {
        EXPECT_TRUE(of_13_panels.contains(tile)) << m;
      }
    }
  }
}

}  // namespace
}  // namespace tailor::gemm
