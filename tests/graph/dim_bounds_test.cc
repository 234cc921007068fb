#include "graph/dim_bounds.h"

#include <gtest/gtest.h>

namespace tailor {
namespace {

const DimExpr kA = DimExpr::Symbol(0), kB = DimExpr::Symbol(1);

TEST(DimBounds, SymbolsAreNeverNegative) {
  EXPECT_EQ(LeastValue(7), 7);
  EXPECT_EQ(LeastValue(kA * kB * 2 + kA + 3), 3);
  EXPECT_EQ(LeastValue(kA - 4), -4);
  EXPECT_EQ(LeastValue(kA - kB), std::nullopt);
}

TEST(DimBounds, OfOperations) {
  EXPECT_EQ(LeastValue(DimExpr::FloorDiv(kA + kB - 1, 2) + 1), 0);
  EXPECT_EQ(LeastValue(DimExpr::FloorDiv(kA, kB)), 0);
  EXPECT_EQ(LeastValue(DimExpr::FloorDiv(kA - 1, kB)), std::nullopt);
  EXPECT_EQ(LeastValue(DimExpr::Mod(kA - kB, 4)), 0);
  EXPECT_EQ(LeastValue(DimExpr::Max(kA - kB, 2)), 2);
  EXPECT_EQ(LeastValue(DimExpr::Min(kA - 1, 2)), -1);
  EXPECT_EQ(LeastValue(DimExpr::Min(kA - kB, 2)), std::nullopt);
  EXPECT_EQ(LeastValue(DimExpr::Max(kA - 2, -1) * kB), std::nullopt);
}

}  // namespace
}  // namespace tailor
