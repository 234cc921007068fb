#include "codegen/plan/slot_expr.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tailor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const SlotExpr kTasks = SlotExpr::CeilDiv(SlotExpr::Slot(2), 48) * SlotExpr::Slot(0);
const SlotExpr kTurns = SlotExpr::FloorDiv(kTasks + SlotExpr::Workers() - 1, SlotExpr::Workers());

TEST(SlotExpr, IsEvaluatedOverSlotsAndWorkers) {
  EXPECT_EQ(kTasks.Evaluate({3, 0, 97}), 9);
  EXPECT_EQ(kTurns.Evaluate({3, 0, 97}, 4), 3);
  EXPECT_EQ(kTurns.WithWorkers(4).Evaluate({3, 0, 97}), 3);
  EXPECT_EQ(kTurns.Evaluate({3, 0, 97}, 0), std::nullopt);  // a divisor of 0
  EXPECT_EQ(kTasks.WithSlot(2, 49), 2 * SlotExpr::Slot(0));
  EXPECT_EQ(SlotExpr::Min(kTasks, 0).Evaluate({3, 0, 97}), 0);
}

TEST(SlotExpr, KnowsItsVariables) {
  EXPECT_THAT(kTurns.Slots(), ElementsAre(0, 2));
  EXPECT_TRUE(kTurns.OverWorkers());
  EXPECT_FALSE(kTasks.OverWorkers());
  EXPECT_EQ(SlotExpr::Slot(7).slot(), 7);
  EXPECT_EQ(SlotExpr::Workers().slot(), std::nullopt);
  EXPECT_EQ(kTasks.Renumbered({5, 6, 4}), SlotExpr::CeilDiv(SlotExpr::Slot(4), 48) * SlotExpr::Slot(5));
  EXPECT_EQ(kTurns.Renumbered({5, 6, 4}).OverWorkers(), true);
}

TEST(SlotExpr, PrintsAndParses) {
  EXPECT_EQ(kTasks.Text(), "d0*floordiv(d2 + 47, 48)");
  for (const SlotExpr& e : {kTasks, kTurns, SlotExpr(), SlotExpr(-5), SlotExpr::Max(kTasks, kTurns)}) {
    const auto parsed = SlotExpr::Parse(e.Text());
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(*parsed, e);
  }
  const auto error = [](const char* text) { return SlotExpr::Parse(text).status().ToString(); };
  EXPECT_THAT(error("d0 +"), HasSubstr("expected a dim"));
  EXPECT_THAT(error("x0"), HasSubstr("unknown symbol \"x0\""));
  EXPECT_THAT(error("d-1"), HasSubstr("unknown symbol \"d\""));
  EXPECT_THAT(error("d99999999999"), HasSubstr("unknown symbol"));
}

}  // namespace
}  // namespace tailor
