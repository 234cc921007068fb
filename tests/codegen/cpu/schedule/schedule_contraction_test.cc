// Mirrors codegen/cpu/schedule/schedule_contraction.cc.
#include "codegen/cpu/schedule/schedule_contraction.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/codegen/cpu/gemm/gemm_product.h"

namespace tailor::cpu {
namespace {

std::string ScheduleText(const ProductForm& form, const char* target) {
  const KernelPlan plan = MakeProductPlan(form);
  return ScheduleContraction(plan, FindCpuTarget(target)->traits).Text(plan);
}

TEST(ScheduleContraction, DynamicProduct) {
  EXPECT_EQ(ScheduleText({}, "x86-64-v4"),
            "tile 6x4 panels, task 48 rows x 4 panels, depth 1024\n"
            "or 6x4 panels, task 48 rows x 2 panels\n"
            "or 6x4 panels, task 24 rows x 4 panels\n"
            "or whole 6x4 panels, task 48 rows x 2 panels\n"
            "tasks floordiv(d0 + 47, 48)*floordiv(d1 + 63, 64), "
            "grain max(floordiv(524288, d2*min(d0, 48)*min(d1, 64) + 8*d2*min(d1, 64) + 1), 1), scratch 0\n"
            "version: always\n");
}

TEST(ScheduleContraction, TallTilesForLargeWeights) {
  const auto first_line = [](const ProductForm& form, const char* target) {
    const std::string text = ScheduleText(form, target);
    return text.substr(0, text.find('\n'));
  };
  EXPECT_EQ(first_line({.n = 512, .k = 512}, "x86-64-v4"),
            "tile 6x4 panels, tall 9x3, task 48 rows x 4 panels, depth 1024");
  EXPECT_EQ(first_line({.n = 512, .k = 511}, "x86-64-v4"), "tile 6x4 panels, task 48 rows x 4 panels, depth 1024");
  EXPECT_EQ(first_line({.k = 4096}, "x86-64-v4"), "tile 6x4 panels, task 48 rows x 4 panels, depth 1024");
  EXPECT_EQ(first_line({.n = 512, .k = 512}, "x86-64-v3"), "tile 6x1 panels, task 48 rows x 4 panels, depth 1024");
}

TEST(ScheduleContraction, ManyRowsOfColumnsWhereDepthIsShort) {
  const auto task = [](int64_t k) {
    const std::string text = ScheduleText({.n = 64, .k = k, .transpose_out = true}, "x86-64-v4");
    return text.substr(0, text.find(" panels, depth"));
  };
  EXPECT_EQ(task(576), "tile 6x4 panels, task 240 rows x 4");  // 3 x 3 points of 64 channels
  EXPECT_EQ(task(641), "tile 6x4 panels, task 96 rows x 4");
}

// Tiles of up to twelve rows for large weights; for others those that the product has anyway, or tasks of other sizes.
TEST(ScheduleContraction, CutsToChooseAmong) {
  const auto cuts = [](const ProductForm& form, const char* target) {
    const KernelPlan plan = MakeProductPlan(form);
    std::vector<std::string> texts;
    const Schedule schedule = ScheduleContraction(plan, FindCpuTarget(target)->traits);
    for (const ProductCut& cut : schedule.tile.cuts) texts.push_back(CutText(cut));
    return texts;
  };
  EXPECT_THAT(cuts({.n = 768, .k = 768}, "x86-64-v4"),
              testing::ElementsAre("whole 12x2 panels, task 48 rows x 4 panels, m in [7, 48]",
                                   "whole 9x3 panels, task 45 rows x 4 panels, m in [7, 36]"));
  EXPECT_THAT(cuts({.n = 768, .k = 768}, "x86-64-v3"),
              testing::ElementsAre("whole 6x1 panels, task 48 rows x 4 panels"));
  EXPECT_THAT(cuts({.n = 384, .k = 96}, "x86-64-v4"), testing::ElementsAre("6x4 panels, task 48 rows x 2 panels"));
  EXPECT_THAT(cuts({.m = 1, .n = 16, .k = 16}, "x86-64-v4"), testing::IsEmpty());
  EXPECT_THAT(cuts({.dtype = DType::kBF16}, "x86-64-v4"), testing::IsEmpty());
  EXPECT_THAT(cuts({.dtype = DType::kF64}, "x86-64-v4"), testing::IsEmpty());
}

TEST(ScheduleContraction, ProductsInF32Choose) {
  const auto chooses = [](const ProductForm& form) {
    return ScheduleContraction(MakeProductPlan(form), FindCpuTarget("x86-64-v4")->traits).tile.chooses;
  };
  EXPECT_TRUE(chooses({.m = 1, .n = 1024, .k = 1024}));  // if only how far to fetch ahead
  EXPECT_FALSE(chooses({.dtype = DType::kBF16}));
  EXPECT_FALSE(chooses({.transpose_out = true}));
}

TEST(ScheduleContraction, WeightsInDouble) {
  EXPECT_EQ(ScheduleText({.dtype = DType::kF64, .batch = {kDynamic}, .rhs_has_batch = {false}, .n = 384, .k = 768},
                         "x86-64-v3"),
            "tile 2x1 panels, task 48 rows x 4 panels, depth 512\n"
            "tasks 6*d0*floordiv(d1 + 47, 48), grain max(floordiv(524288, 49152*min(d1, 48) + 393217), 1), scratch 0\n"
            "version: always\n");
}

TEST(ScheduleContraction, SmallTasksAreTakenTogether) {
  const KernelPlan plan = MakeProductPlan({.batch = {kDynamic, 12}, .rhs_has_batch = {true, true}});
  const Schedule schedule = ScheduleContraction(plan, FindCpuTarget("x86-64-v4")->traits);
  const auto evaluate = [](const SlotExpr& e, std::vector<int64_t> slots) { return *e.Evaluate(slots); };
  EXPECT_EQ(evaluate(schedule.tasks, {4, 8, 8, 32}), 48);
  EXPECT_GE(evaluate(schedule.grain, {4, 8, 8, 32}), 48);
  EXPECT_EQ(evaluate(schedule.tasks, {4, 256, 256, 32}), 48 * 6 * 4);
  EXPECT_EQ(evaluate(schedule.grain, {4, 256, 256, 768}), 1);
  EXPECT_EQ(evaluate(schedule.tasks, {0, 8, 8, 32}), 0);
  EXPECT_EQ(evaluate(schedule.tasks, {4, 8, 0, 32}), 0);
}

}  // namespace
}  // namespace tailor::cpu
