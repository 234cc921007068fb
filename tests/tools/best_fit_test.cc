#include "tools/tune/best_fit.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tailor::tune {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Schedule 0 serves three shapes, 1 the same but one, 2 the rest; 3 none.
const TimeTable kTimes = {{100, 101, 200, 300}, {100, 102, 200, 300}, {100, 150, 200, 300}, {200, 200, 100, 300}};

TEST(BestFit, TakesSchedulesThatServeFurtherShapes) {
  EXPECT_THAT(TopSchedules(kTimes, 0.97, 4), ElementsAre(0, 2));
  EXPECT_THAT(TopSchedules(kTimes, 0.97, 1), ElementsAre(0));
  EXPECT_THAT(TopSchedules({}, 0.97, 3), IsEmpty());
}

TEST(BestFit, CountsWhatIsWithinTheShareOfTheBest) {
  const TimeTable times = {{100, 103}, {104, 103}, {90, 93}};  // 0.971, 1, 0.968
  EXPECT_THAT(TopSchedules(times, 0.97, 2), ElementsAre(0));
  EXPECT_THAT(TopSchedules(times, 0.999, 2), ElementsAre(0, 1));
}

TEST(BestFit, LabelsShapesWithTheFastestOfThose) { EXPECT_THAT(BestFits(kTimes, {1, 2}), ElementsAre(1, 1, 1, 2)); }

TEST(BestFit, JudgesChoices) {
  const ChoiceQuality quality = Judge(kTimes, {0, 1, 1, 2}, 0.97);
  EXPECT_DOUBLE_EQ(quality.within, 0.75);
  EXPECT_DOUBLE_EQ(quality.worst, 1 / 1.5);
  EXPECT_NEAR(quality.mean, std::pow(1 / 1.02 / 1.5, 0.25), 1e-12);
}

}  // namespace
}  // namespace tailor::tune
