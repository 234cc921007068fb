#include "codegen/plan/kernel_plan.h"

#include "gtest/gtest.h"

namespace tailor {
namespace {

class KernelPlanTest : public ::testing::Test {
 protected:
  // Axes a0 (dynamic) and a1 (32 long); buffer b0 [d0, 12, 32].
  KernelPlanTest() {
    d0 = plan.AddDim({.value = DimExpr::Symbol(0)});
    plan.axes = {{d0, AxisRole::kParallel}, {{.constant = 32}, AxisRole::kTile}};
    plan.buffers = {{BufferKind::kInput, DType::kF32, {d0, {.constant = 12}, {.constant = 32}}}};
    a0 = plan.Add({.kind = ExprKind::kAxis, .ref = 0});
    a1 = plan.Add({.kind = ExprKind::kAxis, .ref = 1});
  }
  ExprId Number(int64_t n) { return plan.Add({.kind = ExprKind::kDimSize, .dim_size = {.constant = n}}); }
  ExprId Index(ExprKind kind, ExprId lhs, ExprId rhs) { return plan.Add({.kind = kind, .args = {lhs, rhs}}); }
  std::string Text(ExprId id) { return id < 0 ? "none" : plan.ExprText(id); }

  KernelPlan plan;
  DimSize d0;
  ExprId a0, a1;
};

TEST_F(KernelPlanTest, EqualExpressionsAreOne) {
  EXPECT_EQ(Index(ExprKind::kIndexAdd, a0, a1), Index(ExprKind::kIndexAdd, a0, a1));
  EXPECT_NE(Index(ExprKind::kIndexAdd, a0, a1), Index(ExprKind::kIndexMul, a0, a1));
  EXPECT_EQ(plan.AddDim({.value = DimExpr::Symbol(0)}).slot, d0.slot);
  EXPECT_EQ(plan.AddDim({.value = DimExpr(7)}).constant, 7);
}

TEST_F(KernelPlanTest, FoldsIndexArithmetic) {
  EXPECT_EQ(Index(ExprKind::kIndexAdd, a0, Number(0)), a0);
  EXPECT_EQ(Index(ExprKind::kIndexMul, Number(1), a0), a0);
  EXPECT_EQ(Text(Index(ExprKind::kIndexMul, a0, Number(0))), "0");
  EXPECT_EQ(Text(Index(ExprKind::kIndexFloorDiv, Number(7), Number(2))), "3");
  // a0 * 32 + a1 splits at 32, for a1 < 32; not at 16, and not a1 * 32 + a0, whose rest is unbounded.
  ExprId joined = Index(ExprKind::kIndexAdd, Index(ExprKind::kIndexMul, a0, Number(32)), a1);
  EXPECT_EQ(Index(ExprKind::kIndexFloorDiv, joined, Number(32)), a0);
  EXPECT_EQ(Index(ExprKind::kIndexMod, joined, Number(32)), a1);
  EXPECT_EQ(Text(Index(ExprKind::kIndexMod, joined, Number(16))), "(((a0 * 32) + a1) % 16)");
  ExprId unbounded = Index(ExprKind::kIndexAdd, Index(ExprKind::kIndexMul, a1, Number(32)), a0);
  EXPECT_EQ(Text(Index(ExprKind::kIndexFloorDiv, unbounded, Number(32))), "(((a1 * 32) + a0) / 32)");
}

TEST_F(KernelPlanTest, WhatAReshapeSplitsAndAnotherJoinsIsWhole) {
  const ExprId d = plan.Add({.kind = ExprKind::kDimSize, .dim_size = d0});
  const ExprId quotient = Index(ExprKind::kIndexFloorDiv, a0, d), rest = Index(ExprKind::kIndexMod, a0, d);
  EXPECT_EQ(Index(ExprKind::kIndexAdd, Index(ExprKind::kIndexMul, quotient, d), rest), a0);
  EXPECT_EQ(Index(ExprKind::kIndexAdd, rest, Index(ExprKind::kIndexMul, d, quotient)), a0);
  const ExprId high = Index(ExprKind::kIndexAdd, a1, quotient);
  EXPECT_EQ(Text(Index(ExprKind::kIndexAdd, Index(ExprKind::kIndexMul, high, d), rest)), "((a1 * d0) + a0)");
  const ExprId other = Index(ExprKind::kIndexMod, a1, d);
  EXPECT_EQ(Text(Index(ExprKind::kIndexAdd, Index(ExprKind::kIndexMul, quotient, d), other)),
            "(((a0 / d0) * d0) + (a1 % d0))");
  const ExprId wider = Index(ExprKind::kIndexMul, quotient, Number(3));
  EXPECT_EQ(Text(Index(ExprKind::kIndexAdd, wider, rest)), "(((a0 / d0) * 3) + (a0 % d0))");
}

TEST_F(KernelPlanTest, SplitIndicesOfOneBufferAreJoined) {
  ExprId outer = Index(ExprKind::kIndexFloorDiv, a0, Number(32));
  ExprId inner = Index(ExprKind::kIndexMod, a0, Number(32));
  auto load = [&](std::vector<ExprId> at) {
    return Text(plan.Add({.kind = ExprKind::kLoad, .dtype = DType::kF32, .ref = 0, .args = std::move(at)}));
  };
  EXPECT_EQ(load({Number(0), outer, inner}), "b0[0, 0, a0]");
  EXPECT_EQ(load({outer, inner, a1}), "b0[(a0 / 32), (a0 % 32), a1]") << "the second dim is 12, not 32";
}

}  // namespace
}  // namespace tailor
