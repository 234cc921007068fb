// Mirrors codegen/plan/contraction.cc.
#include "codegen/plan/contraction.h"

#include "codegen/plan/verify_kernel_plan.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/codegen/plan/matmul_case.h"

namespace tailor {
namespace {

TEST(ContractionOf, HasAxesAndOperands) {
  const KernelPlan plan = MakeMatmulPlan({.batch = {kDynamic, 3}, .rhs_has_batch = {true, false}});
  const Contraction c = ContractionOf(plan);
  EXPECT_THAT(c.batch, testing::ElementsAre(0, 1));
  EXPECT_EQ(c.m, 2);
  EXPECT_EQ(c.n, 3);
  EXPECT_EQ(c.k, 4);
  EXPECT_EQ(plan.buffers[c.lhs.ref].layout, ConstantLayout::kRowMajor);
  EXPECT_EQ(plan.buffers[c.rhs.ref].layout, ConstantLayout::kPanels16);
  EXPECT_EQ(plan.buffers[c.sums].kind, BufferKind::kLocal);
}

TEST(ContractionForm, IsVerified) {
  KernelPlan plan = MakeMatmulPlan({});
  EXPECT_TRUE(VerifyKernelPlan(plan).ok()) << VerifyKernelPlan(plan);
  std::vector<ExprId>& rhs = plan.exprs[plan.exprs[plan.stages[0].statements[0].value].args[1]].args;
  std::swap(rhs[rhs.size() - 2], rhs[rhs.size() - 1]);
  EXPECT_EQ(VerifyKernelPlan(plan).message(), "kernel plan matmul: contraction: the rhs is not panels read at (k, n)");
  plan.buffers[1].layout = ConstantLayout::kRowMajor;
  EXPECT_TRUE(VerifyKernelPlan(plan).ok()) << VerifyKernelPlan(plan);
  rhs.back() = rhs[rhs.size() - 2];
  EXPECT_EQ(VerifyKernelPlan(plan).message(), "kernel plan matmul: contraction: the rhs is not a matrix");
  plan = MakeMatmulPlan({});
  plan.stages[0].statements[0].combiner = OpKind::kMax;
  EXPECT_EQ(VerifyKernelPlan(plan).message(), "kernel plan matmul: contraction: no stage is a sum of products over k");
  plan = MakeMatmulPlan({});
  std::swap(plan.exprs[plan.stages[0].statements[0].value].args[0],
            plan.exprs[plan.stages[0].statements[0].value].args[1]);
  EXPECT_EQ(VerifyKernelPlan(plan).message(), "kernel plan matmul: contraction: the rhs is not a matrix");
  plan = MakeMatmulPlan({});
  std::get<ContractionForm>(plan.form).dilation = 2;
  EXPECT_EQ(VerifyKernelPlan(plan).message(), "kernel plan matmul: contraction: its windows have no such dilation");
  plan = MakeMatmulPlan({});
  std::get<ContractionForm>(plan.form).channels_last = true;
  EXPECT_EQ(VerifyKernelPlan(plan).message(),
            "kernel plan matmul: contraction: only Winograd's images are channels last");
  plan = MakeMatmulPlan({});
  plan.buffers[1].layout = ConstantLayout::kWinogradPanels16;
  EXPECT_EQ(VerifyKernelPlan(plan).message(), "kernel plan matmul: contraction: Winograd's lhs is not a staged image");
}

TEST(EpilogueRuns, AreLoadsAndStoresAlongAnAxis) {
  KernelPlan plan = MakeMatmulPlan({.epilogue = true});
  Contraction c = ContractionOf(plan);
  auto rows = EpilogueRuns(plan, c, c.n);
  ASSERT_EQ(rows.size(), 2);  // output and residual, but not the bias, which all rows share
  EXPECT_EQ(plan.buffers[rows[0].ref].kind, BufferKind::kOutput);
  EXPECT_EQ(plan.buffers[rows[1].ref].kind, BufferKind::kInput);
  plan = MakeMatmulPlan({.transpose_out = true, .epilogue = true});
  c = ContractionOf(plan);
  EXPECT_TRUE(EpilogueRuns(plan, c, c.n).empty());
  auto columns = EpilogueRuns(plan, c, c.m);
  ASSERT_EQ(columns.size(), 2);
  EXPECT_EQ(plan.buffers[columns[0].ref].kind, BufferKind::kOutput);
}

TEST(StoresAlongRows, TellsTransposedResults) {
  for (bool transposed : {false, true}) {
    KernelPlan plan = MakeMatmulPlan({.transpose_out = transposed, .epilogue = true});
    EXPECT_EQ(StoresAlongRows(plan, ContractionOf(plan)), transposed);
  }
  KernelPlan plan = MakeMatmulPlan({.batch = {kDynamic, 4}, .rhs_has_batch = {true, true}, .heads = true});
  EXPECT_FALSE(StoresAlongRows(plan, ContractionOf(plan)));
}

}  // namespace
}  // namespace tailor
