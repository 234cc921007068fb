#include "analysis/dim_terms.h"

#include <gtest/gtest.h>

namespace tailor {
namespace {

const DimExpr kS = DimExpr::Symbol(0), kT = DimExpr::Symbol(1);

TEST(DimTerms, LinearInOneSymbol) {
  std::optional<LinearDim> linear = AsLinear(4 * kS - 3);
  ASSERT_TRUE(linear.has_value());
  EXPECT_EQ(linear->symbol, 0);
  EXPECT_EQ(linear->coefficient, 4);
  EXPECT_EQ(linear->offset, -3);
  for (const DimExpr& e : {DimExpr(7), kS * kS, kS + kT, kS * kT + 1, DimExpr::FloorDiv(kS, 2)}) {
    EXPECT_FALSE(AsLinear(e).has_value());
  }
}

TEST(DimTerms, TermsRebuildTheirExpression) {
  DimExpr e = 3 * kS * kS * kT - 2 * DimExpr::Mod(kS, 4) + 5, sum;
  for (const DimExpr::Term& term : e.terms()) sum = sum + TermDim(term);
  EXPECT_EQ(sum, e);
  EXPECT_EQ(ConstantTerm(e), 5);
  EXPECT_EQ(ConstantTerm(kS), 0);
}

TEST(DimTerms, DividesTermsExactly) {
  const DimExpr a = 6 * kS * kS * kT, b = 2 * kS, c = 4 * kS, d = kT * kT;
  EXPECT_EQ(DivideTerm(a.terms()[0], b.terms()[0]), 3 * kS * kT);
  EXPECT_FALSE(DivideTerm(a.terms()[0], c.terms()[0]).has_value());
  EXPECT_FALSE(DivideTerm(a.terms()[0], d.terms()[0]).has_value());
  EXPECT_EQ(DivideCoefficients(6 * kS - 9 * kT, 3), 2 * kS - 3 * kT);
}

TEST(DimTerms, LeavesOfNestedAtoms) {
  const DimExpr u = DimExpr::Symbol(2), nested = DimExpr::Bcast(DimExpr::Bcast(kS, kT), u);
  EXPECT_EQ(LeavesOf(DimExpr::AtomKind::kBcast, nested), (std::vector<DimExpr>{kS, kT, u}));
  EXPECT_EQ(LeavesOf(DimExpr::AtomKind::kMin, nested), std::vector<DimExpr>{nested});
  EXPECT_EQ(LeavesOf(DimExpr::AtomKind::kBcast, 2 * nested), std::vector<DimExpr>{2 * nested});
}

TEST(DimTerms, MentionsLooksIntoAtoms) {
  EXPECT_TRUE(Mentions(DimExpr::Min(kS, DimExpr::FloorDiv(kT, 3)), 1));
  EXPECT_FALSE(Mentions(kS * kS, 1));
}

}  // namespace
}  // namespace tailor
