#include "analysis/fact_store.h"

#include <gtest/gtest.h>

#include "analysis/interval.h"

namespace tailor {
namespace {

using Outcome = FactStore::Outcome;

// Symbols S, T, U, M; the first three are bound in the order T, S, U.
class FactStoreTest : public testing::Test {
 protected:
  const DimExpr s_ = DimExpr::Symbol(0), t_ = DimExpr::Symbol(1), u_ = DimExpr::Symbol(2), m_ = DimExpr::Symbol(3);
  FactStore store_{std::vector<SymbolInfo>{{"S"}, {"T"}, {"U"}, {"M"}},
                   std::vector<SymbolBinding>{{1, 0, 0}, {0, 0, 1}, {2, 1, 0}}};
};

TEST_F(FactStoreTest, TheEarliestBoundSymbolRepresents) {
  EXPECT_EQ(store_.AssertEqual(s_, u_), Outcome::kLearned);
  EXPECT_EQ(store_.Canonical(u_), s_);
  EXPECT_EQ(store_.AssertEqual(u_, t_), Outcome::kLearned);
  EXPECT_EQ(store_.Canonical(u_ + s_), 2 * t_);
  EXPECT_EQ(store_.AssertEqual(s_ * 3, t_ * 3), Outcome::kProved);
}

TEST_F(FactStoreTest, AnswersFollowFactsThatAreLearnedLater) {
  const DimExpr least = DimExpr::Min(s_, t_);
  EXPECT_EQ(store_.Canonical(least), least);
  EXPECT_TRUE(store_.MayBe(s_ * t_, 3));
  EXPECT_TRUE(store_.Restrict(s_ - t_, {1, 10}));
  EXPECT_EQ(store_.Canonical(least), t_);
  EXPECT_EQ(store_.RangeOf(t_ - s_ + 2), (Range{-8, 1}));
  EXPECT_TRUE(store_.Restrict(s_ * t_, {0, 100}, 4));
  EXPECT_FALSE(store_.MayBe(s_ * t_, 3));
  EXPECT_EQ(store_.DivisorOf(s_ * t_), 4);
}

TEST_F(FactStoreTest, AnUnboundSymbolGivesWay) {
  EXPECT_EQ(store_.AssertEqual(m_ + 1, s_ * t_), Outcome::kLearned);
  EXPECT_EQ(store_.OverBoundSymbols(m_ * 2), 2 * s_ * t_ - 2);
  EXPECT_EQ(store_.OverBoundSymbols(s_), s_);
  EXPECT_FALSE(store_.bound(3));
}

TEST_F(FactStoreTest, DefinitionsDoNotUseLaterFacts) {
  EXPECT_EQ(store_.AssertEqual(m_, s_ * t_), Outcome::kLearned);
  EXPECT_EQ(store_.AssertEqual(s_, t_), Outcome::kLearned);
  EXPECT_EQ(store_.Canonical(m_), t_ * t_);
  EXPECT_EQ(store_.OverBoundSymbols(m_), s_ * t_);
}

TEST_F(FactStoreTest, ASymbolIsNeverReplacedByItself) {
  EXPECT_EQ(store_.AssertEqual(s_, s_ * t_), Outcome::kLearned);
  EXPECT_EQ(store_.Canonical(s_), s_);
  EXPECT_TRUE(store_.ProvablyEqual(s_ * u_, s_ * t_ * u_));
}

TEST_F(FactStoreTest, LaterReplacementsSettleEarlierEqualities) {
  EXPECT_EQ(store_.AssertEqual(s_ * t_, u_ * u_), Outcome::kLearned);
  EXPECT_TRUE(store_.ProvablyEqual(s_ * t_ * 4, u_ * u_ * 4));
  EXPECT_FALSE(store_.ProvablyEqual(s_, u_));
  ASSERT_TRUE(store_.Restrict(t_, {1, 9}));
  EXPECT_EQ(store_.AssertEqual(t_, u_), Outcome::kLearned);
  EXPECT_TRUE(store_.ProvablyEqual(s_, u_));
}

TEST_F(FactStoreTest, RangesAndDivisorsPassToTheRepresentative) {
  ASSERT_TRUE(store_.Restrict(s_, {3, 90}, 4));
  ASSERT_TRUE(store_.Restrict(t_, {0, 50}, 6));
  EXPECT_EQ(store_.AssertEqual(s_, t_), Outcome::kLearned);
  EXPECT_EQ(store_.RangeOf(s_), (Range{12, 48}));
  EXPECT_EQ(store_.DivisorOf(t_), 12);
}

TEST_F(FactStoreTest, RestrictingALinearExpressionRestrictsItsSymbol) {
  ASSERT_TRUE(store_.Restrict(2 * s_ - 3, {0, 10}));
  EXPECT_EQ(store_.RangeOf(s_), (Range{2, 6}));
  ASSERT_TRUE(store_.Restrict(6 * t_, interval::kEverything, 4));
  EXPECT_EQ(store_.DivisorOf(t_), 2);
}

TEST_F(FactStoreTest, RestrictingAnyOtherExpressionIsKept) {
  ASSERT_TRUE(store_.Restrict(s_ * t_, {4, 512}, 16));
  ASSERT_TRUE(store_.Restrict(s_ * t_, {0, 100}));
  EXPECT_EQ(store_.RangeOf(s_ * t_), (Range{4, 100}));
  EXPECT_EQ(store_.AssertEqual(s_, t_), Outcome::kLearned);
  EXPECT_EQ(store_.RangeOf(t_ * t_), (Range{4, 100}));
  EXPECT_EQ(store_.DivisorOf(t_ * t_), 16);
}

TEST_F(FactStoreTest, ABoundOfASumBoundsItsSymbols) {
  ASSERT_TRUE(store_.Restrict(s_, {3, INT64_MAX}));
  ASSERT_TRUE(store_.Restrict(t_, {0, INT64_MAX}));
  ASSERT_TRUE(store_.Restrict(s_ + 2 * t_, {0, 64}));
  EXPECT_EQ(store_.RangeOf(s_), (Range{3, 64}));
  EXPECT_EQ(store_.RangeOf(t_), (Range{0, 30}));
  ASSERT_TRUE(store_.Restrict(u_ - t_, {-4, 0}));
  EXPECT_EQ(store_.RangeOf(u_), (Range{0, 30}));
  EXPECT_FALSE(store_.Restrict(s_ - t_, {65, INT64_MAX}));
}

TEST_F(FactStoreTest, ABoundOfASumHoldsWhateverItsSignAndConstant) {
  ASSERT_TRUE(store_.Restrict(s_ + t_ - 64, {INT64_MIN, 0}));
  EXPECT_EQ(store_.RangeOf(63 - s_ - t_).min, -1);
  EXPECT_EQ(store_.RangeOf(s_ + t_ + 1).max, 65);
  EXPECT_EQ(store_.Canonical(DimExpr::Min(s_ + t_, 64)), s_ + t_);
  EXPECT_EQ(store_.Canonical(DimExpr::Max(s_ + t_, 64)), 64);
}

TEST_F(FactStoreTest, ImpossibleEqualitiesAreRefused) {
  EXPECT_EQ(store_.AssertEqual(s_, s_ + 1), Outcome::kImpossible);
  EXPECT_EQ(store_.AssertEqual(2 * s_, 2 * t_ + 1), Outcome::kImpossible);
  ASSERT_TRUE(store_.Restrict(s_, {0, 5}));
  EXPECT_EQ(store_.AssertEqual(s_, 6), Outcome::kImpossible);
  EXPECT_FALSE(store_.Restrict(s_, {6, 9}));
}

TEST_F(FactStoreTest, DivisibilityIsLearnedFromQuotients) {
  EXPECT_EQ(store_.AssertEqual(s_ * t_, 8 * DimExpr::FloorDiv(s_ * t_, 8)), Outcome::kLearned);
  EXPECT_EQ(store_.DivisorOf(s_ * t_), 8);
  EXPECT_EQ(store_.AssertEqual(DimExpr::Mod(u_, 4), 0), Outcome::kLearned);
  EXPECT_EQ(store_.DivisorOf(u_), 4);
}

// What an enlarged level of a feature pyramid tells where it has the dim size of the level below.
TEST_F(FactStoreTest, DivisibilityIsLearnedFromRoundedQuotients) {
  const auto level = [&](int64_t k) { return DimExpr::FloorDiv(s_ + k - 1, k); };
  EXPECT_EQ(store_.AssertEqual(s_, 2 * level(2)), Outcome::kLearned);
  EXPECT_EQ(store_.DivisorOf(s_), 2);
  EXPECT_EQ(store_.AssertEqual(level(2), 2 * level(4)), Outcome::kLearned);
  EXPECT_EQ(store_.DivisorOf(s_), 4);
  EXPECT_EQ(store_.Canonical(4 * level(4)), s_);
  EXPECT_EQ(store_.AssertEqual(t_ + 1, 3 * DimExpr::FloorDiv(t_, 3)), Outcome::kImpossible);
  EXPECT_EQ(store_.AssertEqual(t_, 3 * DimExpr::FloorDiv(t_ + 1, 3) + 1), Outcome::kLearned);
  EXPECT_EQ(store_.DivisorOf(t_ - 1), 3);
}

TEST_F(FactStoreTest, MayBeKnowsRangesAndDivisors) {
  ASSERT_TRUE(store_.Restrict(s_, {2, 20}, 3));
  EXPECT_TRUE(store_.NeverOne(s_));
  EXPECT_TRUE(store_.MayBe(s_ + 1, 7));
  EXPECT_FALSE(store_.MayBe(s_ + 1, 8));
  EXPECT_TRUE(store_.MayBe(t_, 1));
}

}  // namespace
}  // namespace tailor
