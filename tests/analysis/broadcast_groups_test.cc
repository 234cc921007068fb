#include "analysis/broadcast_groups.h"

#include <gtest/gtest.h>

namespace tailor {
namespace {

class BroadcastGroupsTest : public testing::Test {
 protected:
  const DimExpr s_ = DimExpr::Symbol(0), t_ = DimExpr::Symbol(1), u_ = DimExpr::Symbol(2);
  FactStore store_{std::vector<SymbolInfo>{{"S"}, {"T"}, {"U"}}, {}};
  BroadcastGroups groups_;
};

TEST_F(BroadcastGroupsTest, MembersOfAGroupBroadcastInAnyCombination) {
  groups_.Join(s_, t_, store_);
  EXPECT_FALSE(groups_.Joined(DimExpr::Bcast(s_, t_), u_));
  groups_.Join(DimExpr::Bcast(s_, t_), u_, store_);
  EXPECT_TRUE(groups_.Joined(s_, u_));
  EXPECT_TRUE(groups_.Joined(DimExpr::Bcast(u_, t_), s_));
}

TEST_F(BroadcastGroupsTest, BroadcastingIsNotTransitive) {
  groups_.Join(s_, t_, store_);  // T may be 1, and S and U anything
  groups_.Join(t_, u_, store_);
  EXPECT_FALSE(groups_.Joined(s_, u_));
}

TEST_F(BroadcastGroupsTest, ADimSizeThatIsNeverOneJoinsGroups) {
  groups_.Join(s_, 8, store_);
  groups_.Join(8, t_, store_);
  EXPECT_TRUE(groups_.Joined(s_, t_));
}

}  // namespace
}  // namespace tailor
