#include "codegen/cpu/loops/windowed_reduction.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "codegen/cpu/emit_cpu.h"
#include "codegen/lower/lower_graph.h"
#include "graph/text.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tailor::cpu {
namespace {

// What is found in the kernel of a graph's body over %x: f32[N, C, H, W] and %k: f32[C, 1, 1, 3, 3]: how many outer
// axes; each side's size and stride, and how far apart its steps are; the image.
std::string Found(const std::string& body) {
  const auto graph = ParseGraph("graph @g(%x: f32[N, C, H, W], %k: f32[C, 1, 1, 3, 3]) {\n  %z = constant 0 : f32[]\n" +
                                body + "\n  return %y\n}");
  EXPECT_TRUE(graph.ok()) << graph.status();
  const auto lowered = lower::LowerGraph(*graph, {});
  EXPECT_TRUE(lowered.ok()) << lowered.status();
  EXPECT_EQ(lowered->kernels.size(), 1u) << body;
  const KernelPlan& plan = lowered->kernels[0];
  const auto found = FindWindowedReduction(plan);
  EXPECT_EQ(ScheduleOnCpu(plan, {}).windows, found.has_value());
  if (!found) return "none";
  std::string text = absl::StrCat(found->outer.size(), " outer");
  for (const WindowSide& side : found->sides) {
    absl::StrAppend(&text, "; ", side.size, " by ", side.stride, ", ", side.dilation, " apart");
  }
  return absl::StrCat(text, "; ", plan.ExprText(found->image));
}

std::string Pool(const std::string& window, const std::string& axes = "[4, 5]", const std::string& op = "reduce_max") {
  return absl::StrCat("  %p = pad %x, %z {low = [0, 0, 1, 1], high = [0, 0, 1, 1]}\n  %w = window %p {axes = [2, 3], ",
                      window, "}\n  %y = ", op, " %w {axes = ", axes, "}");
}

TEST(WindowedReduction, OfAPool) {
  EXPECT_EQ(Found(Pool("sizes = [3, 3]")),
            "1 outer; 3 by 1, 1 apart; 3 by 1, 1 apart; select(e2, b0[0, a0, (e0 - 1), (e1 - 1)] if e2, 0f00000000)");
}

TEST(WindowedReduction, OfADepthwiseConvolution) {
  EXPECT_EQ(
      Found("  %p = pad %x, %z {low = [0, 0, 1, 1], high = [0, 0, 1, 1]}\n  %w = window %p {axes = [2, 3], sizes = "
            "[3, 3]}\n  %m = mul %w, %k\n  %y = reduce_sum %m {axes = [4, 5]}"),
      "2 outer; 3 by 1, 1 apart; 3 by 1, 1 apart; select(e2, b0[a0, a1, (e0 - 1), (e1 - 1)] if e2, 0f00000000)");
}

TEST(WindowedReduction, WithoutPaddingItsImageIsTheLoad) {
  EXPECT_EQ(Found("  %w = window %x {axes = [2, 3], sizes = [3, 2], dilations = [2, 1]}\n  %y = reduce_max %w {axes = "
                  "[4, 5]}"),
            "1 outer; 3 by 1, 2 apart; 2 by 1, 1 apart; b0[0, a0, (a1 + (a3 * 2)), (a2 + a4)]");
}

TEST(WindowedReduction, OfOneSide) {
  EXPECT_EQ(Found("  %w = window %x {axes = [3], sizes = [4], strides = [2]}\n  %y = reduce_max %w {axes = [4]}"),
            "1 outer; 4 by 2, 1 apart; b0[0, 0, a0, ((a1 * 2) + a2)]");
}

TEST(WindowedReduction, ASideOfOneStepIsNone) {
  EXPECT_EQ(Found(Pool("sizes = [1, 3]")).substr(0, 26), "2 outer; 3 by 1, 1 apart; ");
}

TEST(WindowedReduction, NeedsWindowsThatShareElements) {
  EXPECT_EQ(Found(Pool("sizes = [2, 2], strides = [2, 2]")), "none");
}

TEST(WindowedReduction, HasStraightCodeForEveryStepOrForARow) {
  EXPECT_NE(Found(Pool("sizes = [11, 12]", "[4, 5]", "reduce_prod")), "none");
  EXPECT_EQ(Found(Pool("sizes = [66, 2]", "[4, 5]", "reduce_sum")), "none");
  EXPECT_EQ(Found(Pool("sizes = [3, 3], strides = [1, 3]")), "none");
  EXPECT_EQ(Found(Pool("sizes = [3, 3], strides = [2, 2], dilations = [2, 2]")), "none");
  EXPECT_EQ(Found(Pool("sizes = [2, 2], dilations = [1, 65]")), "none");
}

// What a block reads of the image lies on a thread's stack.
TEST(WindowedReduction, RunsInBlocksOfAFewKilobytes) {
  const auto runs_in_blocks = [](const std::string& dtype, const std::string& window) {
    const auto graph = ParseGraph(absl::StrCat("graph @g(%x: ", dtype, "[H, W]) {\n  %w = window %x {axes = [0, 1], ",
                                               window, "}\n  %y = reduce_max %w {axes = [2, 3]}\n  return %y\n}"));
    EXPECT_TRUE(graph.ok()) << graph.status();
    const auto lowered = lower::LowerGraph(*graph, {});
    EXPECT_TRUE(lowered.ok()) << lowered.status();
    EXPECT_TRUE(FindWindowedReduction(lowered->kernels[0]));
    const Schedule schedule = ScheduleOnCpu(lowered->kernels[0], {});
    return schedule.windows
               ? absl::StrCat("tasks ", *schedule.tasks.Evaluate({16, 1}), ", ", *schedule.tasks.Evaluate({17, 257}))
               : "no";
  };
  EXPECT_EQ(runs_in_blocks("f32", "sizes = [3, 3]"), "tasks 1, 4");  // 16 x 256
  EXPECT_EQ(runs_in_blocks("f32", "sizes = [3, 3], strides = [2, 2]"), "tasks 2, 6");
  EXPECT_EQ(runs_in_blocks("f64", "sizes = [3, 3], strides = [2, 2]"), "tasks 4, 10");
  EXPECT_EQ(runs_in_blocks("f64", "sizes = [2, 2], strides = [1, 2], dilations = [64, 1]"), "no");
}

// The lane axis and the tasks of a depthwise convolution of `channels` channels (axis 1), with sides up to `most`.
std::string LanesOfChannels(const std::string& channels, int64_t most) {
  const auto graph = ParseGraph(absl::StrCat(
      "graph @g(%x: f32[N, ", channels, ", H, W], %k: f32[", channels, ", 1, 1, 3, 3]) where H in [1, ", most,
      "], W in [1, ", most, "] {\n  %w = window %x {axes = [2, 3], sizes = [3, 3]}\n  %m = mul %w, %k\n  %y = ",
      "reduce_sum %m {axes = [4, 5]}\n  return %y\n}"));
  EXPECT_TRUE(graph.ok()) << graph.status();
  const auto lowered = lower::LowerGraph(*graph, {});
  EXPECT_TRUE(lowered.ok()) << lowered.status();
  const Schedule schedule = ScheduleOnCpu(lowered->kernels[0], {});
  EXPECT_TRUE(schedule.windows);
  return absl::StrCat("axis ", schedule.lane_axis, ", ", schedule.tasks.Text());
}

TEST(WindowedReduction, LanesRunAcrossPlanesThatFillThem) {
  EXPECT_EQ(LanesOfChannels("32", 58), "axis 1, 2*d0*floordiv(d1 + 10, 11)*floordiv(d2 + 61, 62)");
  // By the dim sizes of a launch, planes or rows.
  EXPECT_EQ(LanesOfChannels("32", 4096),
            "axis 3, -2*d0*floordiv(d1 + 10, 11)*floordiv(d2 + 61, 62)*floordiv(min(d1*d2, 4097), 4097) + 32*d0*"
            "floordiv(d1 + 15, 16)*floordiv(d2 + 255, 256)*floordiv(min(d1*d2, 4097), 4097) + 2*d0*floordiv(d1 + 10, "
            "11)*floordiv(d2 + 61, 62)");
  // A quarter of the lanes would be idle.
  EXPECT_EQ(LanesOfChannels("24", 58), "axis 3, 24*d0*floordiv(d1 + 15, 16)*floordiv(d2 + 255, 256)");
}

TEST(WindowedReduction, NeedsLanesAlongTheImage) {
  EXPECT_EQ(
      Found("  %s = slice %x {starts = [0, 0, 0, 0], sizes = [N, C, H, floordiv(W, 2)], steps = [1, 1, 1, 2]}\n"
            "  %p = pad %s, %z {low = [0, 1, 1, 0], high = [0, 1, 1, 0]}\n  %w = window %p {axes = [1, 2], sizes = "
            "[3, 3]}\n  %y = reduce_max %w {axes = [4, 5]}"),
      "none");
}

TEST(WindowedReduction, OfChannelsThatAreLast) {
  const auto found = [](const std::string& strides) {
    return Found(
        "  %p = pad %x, %z {low = [0, 1, 1, 0], high = [0, 1, 1, 0]}\n  %w = window %p {axes = [1, 2], sizes = "
        "[3, 3], strides = " +
        strides + "}\n  %y = reduce_max %w {axes = [4, 5]}");
  };
  EXPECT_EQ(found("[2, 1]"),
            "2 outer; 3 by 2, 1 apart; 3 by 1, 1 apart; select(e2, b0[a0, (e0 - 1), (e1 - 1), a3] if e2, 0f00000000)");
  EXPECT_EQ(found("[2, 2]"), "none");  // loops are faster
}

// In few channels most lanes would be idle.
TEST(WindowedReduction, NeedsSeveralChannelsThatAreLast) {
  const auto has_windows = [](int channels) {
    const auto graph =
        ParseGraph(absl::StrCat("graph @g(%x: f32[N, H, W, ", channels,
                                "]) {\n  %z = constant 0 : f32[]\n  %p = pad %x, %z {low = [0, 1, 1, 0], "
                                "high = [0, 1, 1, 0]}\n  %w = window %p {axes = [1, 2], sizes = [3, 3]}\n  %y = "
                                "reduce_max %w {axes = [4, 5]}\n  "
                                "return %y\n}"));
    EXPECT_TRUE(graph.ok()) << graph.status();
    const auto lowered = lower::LowerGraph(*graph, {});
    EXPECT_TRUE(lowered.ok()) << lowered.status();
    return ScheduleOnCpu(lowered->kernels[0], {}).windows;
  };
  EXPECT_FALSE(has_windows(4));
  EXPECT_TRUE(has_windows(5));
}

// A depthwise convolution of a sum of images, of which one is enlarged by nearest neighbours and one may broadcast.
TEST(WindowedReduction, OfASumOfImages) {
  const auto graph = ParseGraph(
      "graph @g(%x: f32[N, C, H, W], %small: f32[N, C, S, T], %k: f32[C, 1, 1, 3, 3]) {\n  %z = constant 0 : f32[]\n"
      "  %r = reshape %small {shape = [N, C, S, 1, T, 1]}\n  %b = broadcast %r {shape = [N, C, S, 2, T, 2]}\n"
      "  %u = reshape %b {shape = [N, C, 2*S, 2*T]}\n  %s = add %x, %u\n"
      "  %p = pad %s, %z {low = [0, 0, 1, 1], high = [0, 0, 1, 1]}\n  %w = window %p {axes = [2, 3], sizes = [3, 3]}\n"
      "  %m = mul %w, %k\n  %y = reduce_sum %m {axes = [4, 5]}\n  return %y\n}");
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto lowered = lower::LowerGraph(*graph, {});
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  for (const KernelPlan& plan : lowered->kernels) {  // where sizes may broadcast, and where they are equal
    const auto found = FindWindowedReduction(plan);
    ASSERT_TRUE(found) << plan.Text();
    EXPECT_EQ(
        found->sides,
        (std::vector<WindowSide>({{.result = 2, .window = 4, .size = 3}, {.result = 3, .window = 5, .size = 3}})));
    EXPECT_EQ(found->contiguous, 3);
    EXPECT_THAT(plan.ExprText(found->image), testing::HasSubstr(" / 2)"));
    EXPECT_TRUE(ScheduleOnCpu(plan, {}).windows);
  }
}

TEST(WindowedReduction, ReducesWindowsAlone) { EXPECT_EQ(Found(Pool("sizes = [3, 3]", "[1, 4, 5]")), "none"); }

TEST(WindowedReduction, OfOneImage) {
  EXPECT_EQ(
      Found("  %p = pad %x, %z {low = [0, 0, 1, 1], high = [0, 0, 1, 1]}\n  %w = window %p {axes = [2, 3], sizes = "
            "[3, 3]}\n  %u = window %x {axes = [2, 3], sizes = [3, 3]}\n  %q = pad %u, %z {low = [0, 0, 1, 1, 0, 0], "
            "high = [0, 0, 1, 1, 0, 0]}\n  %m = mul %w, %q\n  %y = reduce_sum %m {axes = [4, 5]}"),
      "none");
}

}  // namespace
}  // namespace tailor::cpu
