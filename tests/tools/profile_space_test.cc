#include "tools/tune/profile_space.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tailor::tune {
namespace {

constexpr char kText[] =
    "cached_bytes 1000\nline 4\nhidden 0.5\ntask 20\nregion 900\nmargin 0.04\nahead 24\n"
    "tile 2x4 8 2 4\ntile 2x1 4 1 1\ntile 6x4 10 5 5\n";

CostProfile Base() {
  CostProfile profile;
  EXPECT_EQ(ParseCostProfile(kText, &profile), "");
  return profile;
}

// The unchanged point, but the value of parameter `name` that is nearest to `value`.
CostProfile With(const std::string& name, int64_t value) {
  const ProfileSpace changes(Base());
  const SearchSpace space = changes.Space();
  Assignment values = space.ValuesOf(changes.Unchanged());
  for (size_t i = 0; i < values.size(); ++i) {
    if (space.parameters()[i].name == name) values[i] = value;
  }
  return changes.At(space.Nearest(values));
}

TEST(ProfileSpace, HasTheRowsAndPanelsOfKnownTiles) {
  std::vector<std::string> names;
  const SearchSpace space = ProfileSpace(Base()).Space();
  for (const Parameter& parameter : space.parameters()) names.push_back(parameter.name);
  EXPECT_THAT(names, testing::ElementsAre("rows 2", "rows 6", "panels 1", "panels 4", "line", "task", "cached_bytes",
                                          "margin", "ahead"));
}

TEST(ProfileSpace, BeginsAtTheProfileItself) {
  const ProfileSpace changes(Base());
  EXPECT_EQ(CostProfileText(changes.At(changes.Unchanged())), CostProfileText(Base()));
}

TEST(ProfileSpace, ScalesTheTilesOfSomeRows) {
  const CostProfile changed = With("rows 2", 125);
  EXPECT_EQ(changed.Of(2, 4).fixed, 10);
  EXPECT_EQ(changed.Of(2, 4).near_step, 2.5f);
  EXPECT_EQ(changed.Of(2, 1).far_step, 1.25f);
  EXPECT_EQ(changed.Of(6, 4).fixed, 10);
  EXPECT_FALSE(changed.Of(2, 2).known());
}

TEST(ProfileSpace, ScalesTheTilesOfSomePanels) {
  const CostProfile changed = With("panels 4", 80);
  EXPECT_FLOAT_EQ(changed.Of(6, 4).near_step, 4);
  EXPECT_FLOAT_EQ(changed.Of(2, 4).near_step, 1.6f);
  EXPECT_EQ(changed.Of(2, 1).near_step, 1);
}

TEST(ProfileSpace, ChangesTheCostsOfTheMachine) {
  EXPECT_EQ(With("line", 200).line_ns, 8);
  EXPECT_EQ(With("task", 50).chunk_ns, 10);
  EXPECT_EQ(With("cached_bytes", 400).cached_bytes, 4000);
  EXPECT_FLOAT_EQ(With("margin", 120).margin, 0.12f);
  EXPECT_EQ(With("ahead", 128).prefetch_distance, 128);
}

}  // namespace
}  // namespace tailor::tune
