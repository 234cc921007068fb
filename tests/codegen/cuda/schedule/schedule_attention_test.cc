// Which kernels attention on a GPU has, when each runs, and that none of them spills: with the machine's own assembler,
// where it has one.
#include "codegen/cuda/schedule/schedule_attention.h"

#include <string>
#include <tuple>

#include "absl/strings/str_replace.h"
#include "codegen/cuda/emit_cuda.h"
#include "codegen/lower/lower_graph.h"
#include "codegen/plan/attention.h"
#include "graph/text.h"
#include "gtest/gtest.h"
#include "tests/codegen/cuda/ptx/assembled.h"
#include "tests/codegen/lower/attention_case.h"

namespace tailor::cuda {
namespace {

using Mask = lower::AttentionCase::Mask;
using Layout = lower::AttentionCase::Layout;

KernelPlan PlanOf(const std::string& text, const TargetTraits& traits) {
  auto lowered = lower::LowerGraph(*ParseGraph(text), traits);
  EXPECT_TRUE(lowered.ok()) << lowered.status();
  EXPECT_EQ(lowered->kernels.size(), 1) << text;
  return lowered->kernels[0];
}

std::string TextOf(const std::string& graph) {
  const TargetTraits traits = FindCudaTarget("sm_80")->traits;
  return "\n" + ScheduleOnCuda(PlanOf(graph, traits), traits)->Text() + "\n";
}

TEST(ScheduleCudaAttention, ByWidth) {
  EXPECT_EQ(TextOf(lower::AttentionGraph({.dtype = DType::kBF16, .depth = 64, .columns = 64})), R"(
[
  {version {guards [d1 <= 16]}, shape attention_tile, threads 128, attention {rows 16, depth 64, columns 64, slices 4}, blocks 2*d0*floordiv(d1 + 15, 16), resident_blocks 3, shared_bytes 36864},
  {shape attention_tile, threads 128, attention {depth 64, columns 64}, blocks 2*d0*floordiv(d1 + 63, 64), resident_blocks 3, shared_bytes 36864}]
)");
  EXPECT_EQ(TextOf(lower::AttentionGraph({.dtype = DType::kF16, .depth = 128, .columns = 128})), R"(
[
  {version {guards [d1 <= 16]}, shape attention_tile, threads 64, attention {rows 16, keys 32, depth 128, columns 128, slices 2}, blocks 2*d0*floordiv(d1 + 15, 16), resident_blocks 2, shared_bytes 34816},
  {shape attention_tile, threads 128, attention {keys 32, depth 128, columns 128}, blocks 2*d0*floordiv(d1 + 63, 64), resident_blocks 2, shared_bytes 34816}]
)");
  EXPECT_EQ(TextOf(lower::AttentionGraph({.dtype = DType::kF32, .depth = 64, .columns = 64})), R"(
[
  {version {guards [d1 <= 16]}, shape attention_tile, threads 128, attention {kind multiply_add, rows 16, keys 32, depth 64, columns 64, slices 4, stages 1}, blocks 2*d0*floordiv(d1 + 15, 16), resident_blocks 2, shared_bytes 24832},
  {shape attention_tile, threads 128, attention {kind multiply_add, keys 32, depth 64, columns 64, stages 1}, blocks 2*d0*floordiv(d1 + 63, 64), resident_blocks 2, shared_bytes 44032}]
)");
  EXPECT_EQ(TextOf(lower::AttentionGraph({.dtype = DType::kF32, .depth = 128, .columns = 100})), R"(
[
  {version {guards [d1 <= 16]}, shape attention_tile, threads 128, attention {kind multiply_add, rows 16, keys 32, depth 128, columns 128, slices 4, stages 1}, blocks 2*d0*floordiv(d1 + 15, 16), resident_blocks 2, shared_bytes 45312},
  {shape attention_tile, threads 64, attention {kind multiply_add, rows 32, keys 16, depth 128, columns 128, stages 1}, blocks 2*d0*floordiv(d1 + 31, 32), resident_blocks 2, shared_bytes 36352}]
)");
}

// A score of -inf has no weight. For any other, kernels of rows of up to 64 elements have the registers to find out.
TEST(ScheduleCudaAttention, SkipsMaskedKeys) {
  const auto skips = [](const lower::AttentionCase& form) {
    return TextOf(lower::AttentionGraph(form)).find(", skips}") != std::string::npos;
  };
  EXPECT_FALSE(skips({.dtype = DType::kF16}));
  EXPECT_TRUE(skips({.dtype = DType::kF16, .mask = Mask::kCausal}));
  EXPECT_TRUE(skips({.dtype = DType::kF32, .mask = Mask::kLengths}));
  EXPECT_TRUE(skips({.depth = 128, .columns = 128, .mask = Mask::kCausal}));
  EXPECT_TRUE(skips({.mask = Mask::kCausal, .never = -30000}));
  EXPECT_FALSE(skips({.columns = 80, .mask = Mask::kCausal, .never = -30000}));
  EXPECT_FALSE(skips({.mask = Mask::kAdditive}));
  EXPECT_FALSE(skips({.mask = Mask::kBoolean}));
}

TEST(ScheduleCudaAttention, KnownDimSizesLeaveVersionsOut) {
  const auto fixed = [](const char* rows) {
    return absl::StrReplaceAll(lower::AttentionGraph({.dtype = DType::kF16}), {{"S", rows}});
  };
  EXPECT_EQ(TextOf(fixed("1")), R"(
[
  {shape attention_tile, threads 128, attention {rows 16, depth 64, columns 64, slices 4}, blocks 2*d0, resident_blocks 3, shared_bytes 36864}]
)");
  EXPECT_EQ(TextOf(fixed("512")), R"(
[
  {shape attention_tile, threads 128, attention {depth 64, columns 64}, blocks 16*d0, resident_blocks 3, shared_bytes 36864}]
)");
}

class AssembleAttention : public testing::TestWithParam<std::tuple<const char*, DType>> {
 protected:
  void ExpectCubin(lower::AttentionCase form) {
    const CudaTarget target = *FindCudaTarget(std::get<0>(GetParam()));
    form.dtype = std::get<1>(GetParam());
    const KernelPlan plan = PlanOf(lower::AttentionGraph(form), target.traits);
    const auto assembled = AssembleKernels(plan, *ScheduleOnCuda(plan, target.traits), target);
    if (absl::IsNotFound(assembled.status())) GTEST_SKIP() << assembled.status().message();
    ASSERT_TRUE(assembled.ok()) << assembled.status();
    const absl::Status clean = CheckAssemblerLog(assembled->assembly.log);
    EXPECT_TRUE(clean.ok()) << clean;
  }
};

TEST_P(AssembleAttention, Narrow) { ExpectCubin({.depth = 16, .columns = 16, .mask = Mask::kBoolean}); }
TEST_P(AssembleAttention, Usual) {
  ExpectCubin({.depth = 64, .columns = 64, .mask = Mask::kAdditive, .layout = Layout::kHeadsInside});
}
TEST_P(AssembleAttention, Odd) { ExpectCubin({.depth = 72, .columns = 100}); }
TEST_P(AssembleAttention, UsualThatDecides) { ExpectCubin({.mask = Mask::kCausal, .never = -30000}); }
TEST_P(AssembleAttention, Widest) { ExpectCubin({.depth = 128, .columns = 128, .mask = Mask::kCausal}); }

INSTANTIATE_TEST_SUITE_P(Cuda, AssembleAttention,
                         testing::Combine(testing::Values("sm_80", "sm_90", "sm_90a"),
                                          testing::Values(DType::kF32, DType::kBF16, DType::kF16)),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param)) + "_" + NameOf(std::get<1>(info.param));
                         });

}  // namespace
}  // namespace tailor::cuda
