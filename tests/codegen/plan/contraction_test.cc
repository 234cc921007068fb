// Mirrors codegen/plan/contraction.cc.
#include "codegen/plan/contraction.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/codegen/plan/product_case.h"

namespace tailor {
namespace {

TEST(ReadContraction, FindsAxesAndOperands) {
  const KernelPlan plan = MakeProductPlan({.batch = {kDynamic, 3}, .rhs_has_batch = {true, false}});
  const auto c = ReadContraction(plan);
  ASSERT_TRUE(c.ok()) << c.status();
  EXPECT_THAT(c->batch, testing::ElementsAre(0, 1));
  EXPECT_EQ(c->m, 2);
  EXPECT_EQ(c->n, 3);
  EXPECT_EQ(c->k, 4);
  EXPECT_EQ(plan.buffers[c->lhs.ref].layout, ConstantLayout::kRowMajor);
  EXPECT_EQ(plan.buffers[c->rhs.ref].layout, ConstantLayout::kPanels16);
  EXPECT_EQ(plan.buffers[c->sums].kind, BufferKind::kLocal);
}

TEST(ReadContraction, AcceptsOperandsInEitherOrder) {
  KernelPlan plan = MakeProductPlan({});
  Expr& product = plan.exprs[plan.stages[0].statements[0].value];
  std::swap(product.args[0], product.args[1]);
  const auto c = ReadContraction(plan);
  ASSERT_TRUE(c.ok()) << c.status();
  EXPECT_EQ(plan.buffers[c->rhs.ref].layout, ConstantLayout::kPanels16);
}

TEST(ReadContraction, SaysWhatIsWrong) {
  KernelPlan plan = MakeProductPlan({});
  plan.buffers[1].layout = ConstantLayout::kRowMajor;
  EXPECT_EQ(ReadContraction(plan).status().message(), "contraction product: no factor is panels read at (k, n)");
  plan = MakeProductPlan({});
  plan.stages[0].statements[0].combiner = OpKind::kMax;
  EXPECT_EQ(ReadContraction(plan).status().message(), "contraction product: no stage is a sum of products over k");
}

TEST(LoadCoefficients, TellUnitStrides) {
  for (bool transposed : {false, true}) {
    KernelPlan plan = MakeProductPlan({.transpose_lhs = transposed});
    const auto c = ReadContraction(plan);
    ASSERT_TRUE(c.ok()) << c.status();
    EXPECT_EQ(IsUnitStride(plan, LoadCoefficients(plan, c->lhs, c->k)), !transposed);
    EXPECT_EQ(IsUnitStride(plan, LoadCoefficients(plan, c->lhs, c->m)), transposed);
  }
}

TEST(EpilogueRuns, AreLoadsAndStoresAlongAnAxis) {
  KernelPlan plan = MakeProductPlan({.epilogue = true});
  auto c = ReadContraction(plan);
  auto rows = EpilogueRuns(plan, *c, c->n);
  ASSERT_EQ(rows.size(), 2);  // output and residual, but not the bias, which all rows share
  EXPECT_EQ(plan.buffers[rows[0].ref].kind, BufferKind::kOutput);
  EXPECT_EQ(plan.buffers[rows[1].ref].kind, BufferKind::kInput);
  plan = MakeProductPlan({.transpose_out = true, .epilogue = true});
  c = ReadContraction(plan);
  EXPECT_TRUE(EpilogueRuns(plan, *c, c->n).empty());
  auto columns = EpilogueRuns(plan, *c, c->m);
  ASSERT_EQ(columns.size(), 2);
  EXPECT_EQ(plan.buffers[columns[0].ref].kind, BufferKind::kOutput);
}

TEST(StoresAlongRows, TellsTransposedResults) {
  for (bool transposed : {false, true}) {
    KernelPlan plan = MakeProductPlan({.transpose_out = transposed, .epilogue = true});
    EXPECT_EQ(StoresAlongRows(plan, *ReadContraction(plan)), transposed);
  }
  KernelPlan plan = MakeProductPlan({.batch = {kDynamic, 4}, .rhs_has_batch = {true, true}, .heads = true});
  EXPECT_FALSE(StoresAlongRows(plan, *ReadContraction(plan)));
}

}  // namespace
}  // namespace tailor
