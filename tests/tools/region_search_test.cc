#include "tools/tune/region_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "gtest/gtest.h"

namespace tailor::tune {
namespace {

Parameter Ordered(const std::string& name, int count) {
  std::vector<int64_t> values(count);
  std::iota(values.begin(), values.end(), 0);
  return {name, values, true};
}

// Five ordered parameters and one that is not: 12^5 * 4 points, of which the constraint leaves about a third.
SearchSpace Space() {
  std::vector<Parameter> parameters;
  for (const char* name : {"a", "b", "c", "d", "e"}) parameters.push_back(Ordered(name, 12));
  parameters.push_back({"kind", {0, 1, 2, 3}, false});
  return SearchSpace(
      parameters, [](const Assignment& v) { return v[0] * v[1] + v[0] <= 40; },
      [](const Assignment& v) { return v[5] == 0 ? 0.3 : 0.0; });
}

// A bowl with its floor at (3, 9, 5, 2, 10) of kind 2, where other kinds lie higher.
double Bowl(const Assignment& v) {
  const double floor[] = {3, 9, 5, 2, 10};
  double sum = v[5] == 2 ? 0 : 0.5;
  for (int i = 0; i < 5; ++i) sum += std::pow((v[i] - floor[i]) / 11, 2);
  return sum;
}

// The same with ripples: local minima everywhere.
double Ripples(const Assignment& v) {
  double sum = Bowl(v);
  for (int i = 0; i < 5; ++i) sum += 0.05 * (1 - std::cos(2.2 * static_cast<double>(v[i] + i)));
  return sum;
}

double BestOf(Search& search, const SearchSpace& space, double (*f)(const Assignment&), int trials) {
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < trials; ++i) {
    const Point point = search.Next();
    EXPECT_TRUE(space.Allows(point));
    const double value = f(space.ValuesOf(point));
    search.Tell(value);
    best = std::min(best, value);
  }
  return best;
}

class OnFunction : public testing::TestWithParam<double (*)(const Assignment&)> {};

TEST_P(OnFunction, FindsLessThanRandomSearch) {
  const SearchSpace space = Space();
  double regions = 0, random = 0;
  constexpr int kSeeds = 12, kTrials = 60;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    RegionSearch region_search(space, {}, seed);
    RandomSearch random_search(space, {}, seed);
    regions += BestOf(region_search, space, GetParam(), kTrials) / kSeeds;
    random += BestOf(random_search, space, GetParam(), kTrials) / kSeeds;
  }
  EXPECT_LT(regions, 0.6 * random);
}
INSTANTIATE_TEST_SUITE_P(RegionSearch, OnFunction, testing::Values(Bowl, Ripples));

TEST(RegionSearch, AsksForNoPointTwice) {
  const SearchSpace space(
      {Ordered("a", 6), Ordered("b", 6)}, [](const Assignment&) { return true; },
      [](const Assignment&) { return 0.0; });
  RegionSearch search(space, {}, 5);
  std::set<Point> seen;
  for (int i = 0; i < 30; ++i) {
    const Point point = search.Next();
    EXPECT_TRUE(seen.insert(point).second);
    search.Tell(point[0] + point[1]);
  }
}

TEST(RegionSearch, BeginsAtTheStartsAndRepeatsForASeed) {
  const SearchSpace space = Space();
  const std::vector<Point> starts = {{1, 1, 1, 1, 1, 1}, {2, 2, 2, 2, 2, 2}};
  RegionSearch one(space, starts, 9), same(space, starts, 9), other(space, starts, 10);
  std::vector<Point> points, repeated, different;
  for (int i = 0; i < 15; ++i) {
    points.push_back(one.Next()), repeated.push_back(same.Next()), different.push_back(other.Next());
    one.Tell(Bowl(space.ValuesOf(points.back())));
    same.Tell(Bowl(space.ValuesOf(repeated.back())));
    other.Tell(Bowl(space.ValuesOf(different.back())));
  }
  EXPECT_EQ(std::vector<Point>(points.begin(), points.begin() + 2), starts);
  EXPECT_EQ(points, repeated);
  EXPECT_NE(points, different);
}

// Of two kinds that measure alike, how often the first is tried if it has this penalty.
int TrialsOfFirstKind(double penalty) {
  const SearchSpace space(
      {Ordered("a", 400), {"kind", {0, 1}, false}}, [](const Assignment&) { return true; },
      [penalty](const Assignment& v) { return v[1] == 0 ? penalty : 0.0; });
  int trials = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    RegionSearch search(space, {}, seed, {.regions = 1});
    for (int i = 0; i < 12; ++i) {
      const Assignment values = space.ValuesOf(search.Next());
      trials += values[1] == 0;
      search.Tell(std::abs(static_cast<double>(values[0]) - 200));
    }
  }
  return trials;
}

TEST(RegionSearch, TriesWhatIsPenalisedLess) { EXPECT_LT(TrialsOfFirstKind(3), 0.8 * TrialsOfFirstKind(0)); }

// A region that finds nothing better shrinks until it begins anew, elsewhere: also where starts are the optimum.
TEST(RegionSearch, LeavesARegionThatFindsNothing) {
  const SearchSpace space = Space();
  const Point floor = space.Nearest({3, 9, 5, 2, 10, 2});
  ASSERT_TRUE(space.Allows(floor));
  RegionSearch search(space, {floor}, 3, {.regions = 1});
  double farthest = 0;
  for (int i = 0; i < 40; ++i) {
    const Assignment values = space.ValuesOf(search.Next());
    search.Tell(Bowl(values));
    if (i > 0) farthest = std::max(farthest, Bowl(values));
  }
  EXPECT_GT(farthest, 0.6);
}

}  // namespace
}  // namespace tailor::tune
