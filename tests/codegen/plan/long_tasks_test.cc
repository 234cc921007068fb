#include "codegen/plan/long_tasks.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/codegen/plan/loop_plans.h"
#include "tests/codegen/plan/matmul_case.h"

namespace tailor {
namespace {

// Updates in order at `axes`, each of one element.
KernelPlan Updates(const std::string& sizes) {
  return ParsedPlan(absl::StrCat("kernel axes [", sizes, R"(]
  in b0: f32[d0, d1]
  out b1: f32[d2]
  stage over [a0, a1]
    b1[0] = b0[a0, a1]
)"));
}

// "a<axis> / <steps>", or "".
std::string PollOf(const KernelPlan& plan) {
  const auto poll = PollPointOf(plan, plan.stages[0]);
  EXPECT_EQ(PollsOnHost(plan, {}), poll.has_value());
  return poll ? absl::StrCat("a", poll->axis, " / ", poll->steps) : "";
}

TEST(LongTasks, TheInnermostLoopThatCanBeLongIsDivided) {
  EXPECT_EQ(PollOf(RowScanPlan(false, false)), "a1 / 16384");
  EXPECT_EQ(PollOf(Updates("a0: d0 ordered, a1: d1 ordered")), "a1 / 16384");
  EXPECT_EQ(PollOf(Updates("a0: d0 ordered, a1: 4 ordered")), "a0 / 4096");
  EXPECT_EQ(PollOf(Updates("a0: d0 ordered, a1: 20000 ordered")), "a1 / 16384");
  EXPECT_EQ(PollOf(Updates("a0: 300 ordered, a1: 50 ordered")), "");
}

TEST(LongTasks, OtherLoopsAreDividedIntoTasks) { EXPECT_EQ(PollOf(RowSoftmaxPlan()), ""); }

TEST(LongTasks, DeepMatmulsPoll) {
  const auto polls = [](int64_t k) {
    Schedule schedule;
    return PollsOnHost(MakeMatmulPlan({.k = k}), schedule);
  };
  EXPECT_TRUE(polls(kDynamic));
  EXPECT_TRUE(polls(1 << 20));
  EXPECT_FALSE(polls(4096));
}

}  // namespace
}  // namespace tailor
