#include "tools/tune/search_space.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tailor::tune {
namespace {

using testing::ElementsAre;

// a + b <= 10, where a is a power of two, b any up to 8; c is a name.
SearchSpace Space() {
  return SearchSpace(
      {{"a", {1, 2, 4, 8, 16}}, {"b", {0, 1, 2, 3, 4, 5, 6, 7, 8}}, {"c", {7, 8, 9}, false}},
      [](const Assignment& v) { return v[0] + v[1] <= 10; },
      [](const Assignment& v) { return v[1] % 2 == 0 ? 0.0 : 0.5; });
}

TEST(SearchSpace, EncodesOrderedValuesByRankAndOthersOneHot) {
  const double one_hot = std::sqrt(0.5);
  EXPECT_THAT(Space().Encode({2, 8, 1}), ElementsAre(0.5, 1.0, 0.0, one_hot, 0.0));
  EXPECT_THAT(Space().ValuesOf({2, 8, 1}), ElementsAre(4, 8, 8));
}

TEST(SearchSpace, AppliesConstraintsToValues) {
  EXPECT_TRUE(Space().Allows({3, 2, 0}));
  EXPECT_FALSE(Space().Allows({3, 3, 0}));
  EXPECT_EQ(Space().Penalty({0, 3, 0}), 0.5);
}

TEST(SearchSpace, FindsTheNearestPoint) {
  EXPECT_THAT(Space().Nearest({5, 100, 9}), ElementsAre(2, 8, 2));
  EXPECT_THAT(Space().Nearest({0, -3, 7}), ElementsAre(0, 0, 0));
}

TEST(SearchSpace, DrawsOnlyWhatIsAllowed) {
  const SearchSpace space = Space();
  Random random(1);
  std::set<Point> seen;
  for (int i = 0; i < 3000; ++i) {
    const Point point = space.Draw(random);
    ASSERT_TRUE(space.Allows(point));
    seen.insert(point);
  }
  EXPECT_EQ(seen.size(), 3 * (9 + 9 + 7 + 3));  // all of them
}

TEST(SearchSpace, DrawsNearWithinReachAndConstraints) {
  const SearchSpace space = Space();
  Random random(2);
  const Point centre = {3, 2, 1};  // on the constraint's edge
  std::set<Point> seen;
  for (int i = 0; i < 3000; ++i) {
    const Point point = space.DrawNear(centre, 0.25, 0.7, random);
    ASSERT_TRUE(space.Allows(point));
    ASSERT_LE(std::abs(point[0] - 3), 1);
    ASSERT_LE(std::abs(point[1] - 2), 2);
    seen.insert(point);
  }
  EXPECT_GT(seen.size(), 15);
  EXPECT_EQ(seen.count({2, 4, 0}), 1);
}

TEST(SearchSpace, DrawsTheSameForTheSameSeed) {
  const SearchSpace space = Space();
  Random one(3), other(3);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(space.Draw(one), space.Draw(other));
}

TEST(SearchSpaceDeathTest, RefusesWhatIsEmpty) {
  const auto none = [](const Assignment&) { return false; };
  const auto zero = [](const Assignment&) { return 0.0; };
  EXPECT_DEATH(SearchSpace({{"a", {}}}, none, zero), "no value");
  Random random(4);
  EXPECT_DEATH(SearchSpace({{"a", {1}}}, none, zero).Draw(random), "allow nothing");
}

}  // namespace
}  // namespace tailor::tune
