#include "codegen/plan/access_map.h"

#include "codegen/plan/contraction.h"
#include "gtest/gtest.h"
#include "tests/codegen/plan/matmul_case.h"

namespace tailor {
namespace {

using Kind = AccessMap::Kind;

class AccessMapTest : public ::testing::Test {
 protected:
  // Axes a0 (dynamic) and a1 (32 long); buffers b0 [d0, 12, 32], b1 [d0, 12, d0], and b2, packed panels.
  AccessMapTest() {
    d0 = plan.AddDim({.value = DimExpr::Symbol(0)});
    plan.axes = {{d0, AxisRole::kParallel}, {{.constant = 32}, AxisRole::kTile}};
    const DimSize twelve{.constant = 12}, wide{.constant = 32};
    plan.buffers = {{BufferKind::kInput, DType::kF32, {d0, twelve, wide}},
                    {BufferKind::kInput, DType::kF32, {d0, twelve, d0}},
                    {BufferKind::kInput, DType::kF32, {twelve, wide}, ConstantLayout::kPanels16}};
    a0 = plan.Add({.kind = ExprKind::kAxis, .ref = 0});
    a1 = plan.Add({.kind = ExprKind::kAxis, .ref = 1});
    size = plan.Add({.kind = ExprKind::kDimSize, .dim_size = d0});
  }
  ExprId Number(int64_t n) { return plan.Add({.kind = ExprKind::kDimSize, .dim_size = {.constant = n}}); }
  ExprId Index(ExprKind kind, ExprId lhs, ExprId rhs) { return plan.Add({.kind = kind, .args = {lhs, rhs}}); }
  ExprId Broadcast(ExprId index) { return plan.Add({.kind = ExprKind::kBcastIndex, .dim_size = d0, .args = {index}}); }
  std::string StepText(ExprId index, int axis) {
    const IndexStep step = StepAlong(plan, index, axis);
    return step.kind == IndexStep::Kind::kOpaque ? "opaque" : plan.ExprText(step.expr);
  }
  AccessMap Along(int buffer, std::vector<ExprId> indices, int axis, IndexAssumptions assumptions = {}) {
    return AccessMap::Along(plan, {buffer, std::move(indices)}, axis, assumptions);
  }

  KernelPlan plan;
  DimSize d0;
  ExprId a0, a1, size;
};

TEST_F(AccessMapTest, StepsOfIndices) {
  const ExprId affine =
      Index(ExprKind::kIndexAdd, Index(ExprKind::kIndexMul, a0, size), Index(ExprKind::kIndexMul, a1, Number(3)));
  EXPECT_EQ(StepText(affine, 0), "d0");
  EXPECT_EQ(StepText(affine, 1), "3");
  EXPECT_EQ(StepText(Number(5), 0), "0");
  EXPECT_EQ(StepText(Index(ExprKind::kIndexMul, a0, a0), 0), "opaque");
  EXPECT_EQ(StepText(Index(ExprKind::kIndexMod, a0, Number(3)), 0), "opaque");
  EXPECT_EQ(StepText(Broadcast(a0), 0), "bcast(1, d0)");
  EXPECT_TRUE(DependsOn(plan, affine, 1));
  EXPECT_FALSE(DependsOn(plan, size, 0));
}

// (a0 * 32 + a1) / 96 and its remainder: a1 moves within a multiple of 32.
TEST_F(AccessMapTest, StepsWithinAMultiple) {
  const ExprId joined = Index(ExprKind::kIndexAdd, Index(ExprKind::kIndexMul, a0, Number(32)), a1);
  EXPECT_EQ(StepText(Index(ExprKind::kIndexMod, joined, Number(96)), 1), "1");
  EXPECT_EQ(StepText(Index(ExprKind::kIndexFloorDiv, joined, Number(96)), 1), "0");
  EXPECT_EQ(StepText(Index(ExprKind::kIndexMod, joined, Number(96)), 0), "opaque");
  EXPECT_EQ(StepText(Index(ExprKind::kIndexFloorDiv, joined, Number(96)), 0), "opaque");
  EXPECT_EQ(StepText(Index(ExprKind::kIndexMod, joined, Number(48)), 1), "opaque");
  EXPECT_EQ(StepText(Index(ExprKind::kIndexMod, joined, size), 1), "opaque");
  const IndexStep merged = StepAlong(plan, Index(ExprKind::kIndexMod, joined, Number(96)), 1, {.beyond_axis = true});
  EXPECT_EQ(merged.kind, IndexStep::Kind::kOpaque);
  const ExprId narrow = Index(ExprKind::kIndexAdd, Index(ExprKind::kIndexMul, a0, Number(16)), a1);  // a1 exceeds 15
  EXPECT_EQ(StepText(Index(ExprKind::kIndexMod, narrow, Number(96)), 1), "opaque");
}

TEST_F(AccessMapTest, ConstantStepsLeaveThePlanAsItIs) {
  const ExprId index = Index(ExprKind::kIndexSub, Number(4), Index(ExprKind::kIndexMul, a1, Number(3)));
  const ExprId by_dim = Index(ExprKind::kIndexMul, a1, size), broadcast = Broadcast(a1);
  const size_t count = plan.exprs.size();
  const auto moves = [&](ExprId id) { return DependsOn(plan, id, 1); };
  EXPECT_EQ(ConstantStep(plan, index, moves), -3);
  EXPECT_EQ(ConstantStep(plan, a0, moves), 0);
  EXPECT_EQ(ConstantStep(plan, by_dim, moves), std::nullopt);
  EXPECT_EQ(ConstantStep(plan, broadcast, moves), std::nullopt);
  EXPECT_EQ(ConstantStep(plan, broadcast, moves, {.no_broadcast = true}), 1);
  EXPECT_EQ(plan.exprs.size(), count);
}

TEST_F(AccessMapTest, Kinds) {
  EXPECT_EQ(Along(0, {Number(0), Number(1), a1}, 0).kind(), Kind::kUniform);
  EXPECT_EQ(Along(0, {Number(0), Number(1), a1}, 1).kind(), Kind::kUnit);
  const AccessMap rows = Along(0, {Number(0), a1, Number(2)}, 1);
  EXPECT_EQ(rows.kind(), Kind::kStrided);
  EXPECT_EQ(rows.stride(), 32);
  const AccessMap reversed = Along(0, {a0, Number(0), Index(ExprKind::kIndexSub, Number(31), a1)}, 1);
  EXPECT_EQ(reversed.kind(), Kind::kStrided);
  EXPECT_EQ(reversed.stride(), -1);
  EXPECT_EQ(Along(1, {Number(0), a1, Number(2)}, 1).kind(), Kind::kAffine);
  EXPECT_EQ(Along(0, {a0, Number(0), Index(ExprKind::kIndexMod, a1, Number(5))}, 1).kind(), Kind::kOpaque);
}

TEST_F(AccessMapTest, PackedBuffersAreUniformOrOpaque) {
  EXPECT_EQ(Along(2, {Number(3), a1}, 0).kind(), Kind::kUniform);
  EXPECT_EQ(Along(2, {Number(3), a1}, 1).kind(), Kind::kOpaque);
  EXPECT_FALSE(Along(2, {Number(3), a1}, 1).IsUnitInLastDim());
}

TEST_F(AccessMapTest, Strides) {
  const auto text = [&](const AccessMap& map) {
    const std::optional<DimExpr> stride = map.Stride(plan);
    return stride ? stride->ToText([](SymbolId) { return std::string("S"); }) : "none";
  };
  EXPECT_EQ(text(Along(1, {a1, a1, Number(0)}, 1)), "13*S");
  EXPECT_EQ(text(Along(1, {Number(0), Number(0), Broadcast(a1)}, 1)), "none");
  const ExprId gathered = plan.Add({.kind = ExprKind::kGatherIndex, .ref = 0, .dim_size = d0, .args = {a1}});
  EXPECT_EQ(text(Along(1, {gathered, Number(0), a1}, 1)), "none");
  EXPECT_EQ(text(Along(1, {gathered, Number(0), a1}, 1, {.gathers_fixed = true})), "1");
}

TEST(AccessMap, TransposedOperandsAreContiguousAlongM) {
  for (bool transposed : {false, true}) {
    KernelPlan plan = MakeMatmulPlan({.transpose_lhs = transposed});
    const Contraction c = ContractionOf(plan);
    EXPECT_EQ(MapOf(plan, c.lhs, c.k).IsUnitInLastDim(), !transposed);
    EXPECT_EQ(MapOf(plan, c.lhs, c.m).IsUnitInLastDim(), transposed);
  }
}

}  // namespace
}  // namespace tailor
