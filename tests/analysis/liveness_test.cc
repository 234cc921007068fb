#include "analysis/liveness.h"

#include <gtest/gtest.h>

namespace tailor {
namespace {

TEST(Liveness, FromFirstWriteToLastRead) {
  std::vector<StepAccess> steps = {{{}, {0}}, {{0}, {1}}, {{0, 1}, {2}}, {{2}, {3}}};
  std::vector<LiveInterval> live = LiveIntervals(steps, 5);
  EXPECT_EQ(live[0], (LiveInterval{0, 2}));
  EXPECT_EQ(live[1], (LiveInterval{1, 2}));
  EXPECT_EQ(live[2], (LiveInterval{2, 3}));
  EXPECT_EQ(live[3], (LiveInterval{3, 3}));  // written, never read
  EXPECT_EQ(live[4], (LiveInterval{-1, -1}));
}

TEST(Liveness, OverlapIncludesBothEnds) {
  EXPECT_TRUE((LiveInterval{0, 2}.Overlaps({2, 5})));
  EXPECT_FALSE((LiveInterval{0, 2}.Overlaps({3, 5})));
  EXPECT_FALSE((LiveInterval{0, 2}.Overlaps({-1, -1})));
}

}  // namespace
}  // namespace tailor
