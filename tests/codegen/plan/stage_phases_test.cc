#include "codegen/plan/stage_phases.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/codegen/plan/loop_plans.h"

namespace tailor {
namespace {

using testing::ElementsAre;

// "0 1" for a phase of two stages, "2 once" for one without loops, with the locals that it is to be given: "1 <- b3".
std::vector<std::string> PhaseTexts(const KernelPlan& plan) {
  std::vector<std::string> texts;
  for (const Phase& phase : PhasesOf(plan)) {
    std::string text;
    for (int i = phase.first; i < phase.end; ++i) absl::StrAppend(&text, i > phase.first ? " " : "", i);
    if (phase.once) text += " once";
    const std::vector<bool> needed = LocalsNeeded(plan, phase);
    for (size_t b = 0; b < needed.size(); ++b) {
      if (needed[b]) absl::StrAppend(&text, " <- b", b);
    }
    texts.push_back(text);
  }
  return texts;
}

TEST(StagePhases, EndBehindReductions) {
  EXPECT_THAT(PhaseTexts(RowSoftmaxPlan()), ElementsAre("0", "1 <- b3", "2 <- b4"));
  EXPECT_THAT(PhaseTexts(ColumnTotalPlan()), ElementsAre("0", "1 once <- b2"));
  EXPECT_THAT(ReducedLocals(RowSoftmaxPlan()), ElementsAre(3, 4));
}

TEST(StagePhases, EndBehindWhatOthersRead) { EXPECT_THAT(PhaseTexts(RowReversePlan()), ElementsAre("0", "1")); }

TEST(StagePhases, StagesWithoutEitherGoTogether) {
  KernelPlan plan = RowSoftmaxPlan();
  plan.stages.push_back({{}, {{.buffer = 4, .value = plan.stages[2].statements[0].value}}});
  EXPECT_THAT(PhaseTexts(plan), ElementsAre("0", "1 <- b3", "2 3 <- b4"));
}

}  // namespace
}  // namespace tailor
