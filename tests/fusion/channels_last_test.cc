#include "fusion/channels_last.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/substitute.h"
#include "absl/strings/match.h"
#include "fusion/remove_dead_nodes.h"
#include "fusion/simplify_views.h"
#include "graph/status_macros.h"
#include "tests/fusion/fused_text.h"

namespace tailor {
namespace {

absl::StatusOr<Graph> KeepAndClean(const Graph& graph, const ShapeFacts& facts) {
  TAILOR_ASSIGN_OR_RETURN(Graph kept, KeepChannelsLast(graph, facts));
  TAILOR_ASSIGN_OR_RETURN(Graph composed, ComposeViews(kept, facts));
  TAILOR_ASSIGN_OR_RETURN(Graph simple, RemoveIdentityViews(composed, facts));
  return RemoveDeadNodes(simple, facts);
}

// A convolution of `image`: f32[B, 16, .] by `weights` [1, ., 16 * taps], from patches [batch, 1, 16 * taps,
// positions]: `result`, a name of one letter.
std::string ConvText(const std::string& result, const std::string& image, const std::string& weights, int taps,
                     const std::string& batch, const std::string& positions) {
  return absl::Substitute(R"(  %$0p = window %$1 {axes = [2], sizes = [$3]}
  %$0q = transpose %$0p {permutation = [0, 1, 3, 2]}
  %$0r = reshape %$0q {shape = [$5, 1, $4, $6]}
  %$0 = dot %$0r, %$2 {transpose_lhs = 1, transpose_rhs = 1}
)",
                          result, image, weights, taps, 16 * taps, batch, positions);
}

// %d: the convolution of %y: f32[B, 16, T] to 8 channels with windows of 3.
std::string Conv() {
  return "  %w = constant @w : f32[8, 16, 3]\n  %m = reshape %w {shape = [1, 8, 48]}\n" +
         ConvText("d", "y", "m", 3, "B", "T - 2");
}

std::string Kept(const std::string& inputs, const std::string& before, const std::string& after) {
  return TextAfter(KeepAndClean,
                   absl::StrCat("graph @g(", inputs, ") where T in [3, 1000] {\n", before, Conv(), after, "}"));
}

TEST(KeepChannelsLast, ElementwiseNodesMasksAndPaddingMoveAlong) {
  EXPECT_EQ(Kept("%x: f32[B, T - 2, 16], %mask: f32[B, 1, T - 2]", R"(  %t = transpose %x {permutation = [0, 2, 1]}
  %bias = constant @bias : f32[1, 16, 1]
  %u = add %t, %bias
  %v = mul %u, %mask
  %zero = constant 0 : f32[]
  %y = pad %v, %zero {low = [0, 0, 1], high = [0, 0, 1]}
)",
                 "  return %d\n"),
            R"(graph @g(%x: f32[B, T - 2, 16], %mask: f32[B, 1, T - 2]) where T in [3, 1000] {
  %bias = constant @bias : f32[1, 16, 1] hash d39d4e3bda1cef59
  %3 = reshape %bias {shape = [1, 1, 16]} : f32[1, 1, 16]
  %u = add %x, %3 : f32[B, T - 2, 16]
  %5 = reshape %mask {shape = [B, T - 2, 1]} : f32[B, T - 2, 1]
  %v = mul %u, %5 : f32[B, T - 2, 16]
  %zero = constant 0 : f32[]
  %y = pad %v, %zero {low = [0, 1, 0], high = [0, 1, 0]} : f32[B, T, 16]
  %9 = window %y {axes = [1], sizes = [3]} : f32[B, max(0, T - 2), 16, 3]
  %10 = transpose %9 {permutation = [0, 1, 3, 2]} : f32[B, max(0, T - 2), 3, 16]
  %11 = reshape %10 {shape = [B, 1, T - 2, 48]} : f32[B, 1, T - 2, 48]
  %w = constant @w : f32[1, 8, 48] hash c80032d87740270e
  %d = dot %11, %w {transpose_rhs = 1} : f32[B, 1, T - 2, 8]
  return %d
}
)");
}

TEST(KeepChannelsLast, AConvolutionFollowsAnother) {
  EXPECT_EQ(Kept("%z: f32[B, 1, T, 16]", R"(  %a = transpose %z {permutation = [0, 1, 3, 2]}
  %b = reshape %a {shape = [B, 16, T]}
  %y = tanh %b
)",
                 "  return %d\n"),
            R"(graph @g(%z: f32[B, 1, T, 16]) where T in [3, 1000] {
  %b = reshape %z {shape = [B, T, 16]} : f32[B, T, 16]
  %y = tanh %b : f32[B, T, 16]
  %3 = window %y {axes = [1], sizes = [3]} : f32[B, max(0, T - 2), 16, 3]
  %4 = transpose %3 {permutation = [0, 1, 3, 2]} : f32[B, max(0, T - 2), 3, 16]
  %5 = reshape %4 {shape = [B, 1, T - 2, 48]} : f32[B, 1, T - 2, 48]
  %w = constant @w : f32[1, 8, 48] hash c80032d87740270e
  %d = dot %5, %w {transpose_rhs = 1} : f32[B, 1, T - 2, 8]
  return %d
}
)");
}

TEST(KeepChannelsLast, OthersThatReadChannelsFirstKeepThem) {
  const std::string before = "  %t = transpose %x {permutation = [0, 2, 1]}\n  %y = tanh %t\n";
  const auto is_kept = [&](const std::string& after) {
    return absl::StrContains(Kept("%x: f32[B, T, 16]", before, after), "axes = [1]");
  };
  EXPECT_TRUE(is_kept("  return %d\n"));
  EXPECT_TRUE(is_kept("  %o = transpose %y {permutation = [0, 2, 1]}\n  return %d, %o\n"));
  EXPECT_FALSE(is_kept("  return %d, %y\n"));
  EXPECT_TRUE(is_kept("  %o = reduce_sum %y {axes = [2]}\n  return %d, %o\n"));
  EXPECT_FALSE(is_kept("  %o = reduce_sum %y {axes = [0]}\n  return %d, %o\n"));
}

// Patches whose batch is not that of the image are no convolution.
TEST(KeepChannelsLast, RegroupedPatchesStay) {
  const auto is_kept = [](const std::string& batch, const std::string& positions) {
    const std::string text =
        TextAfter(KeepAndClean, absl::StrCat(R"(graph @g(%x: f32[2, 6, 16]) {
  %w = constant @w : f32[1, 8, 48]
  %t = transpose %x {permutation = [0, 2, 1]}
)",
                                             ConvText("d", "t", "w", 3, batch, positions), "  return %d\n}"));
    return absl::StrContains(text, "axes = [1]");
  };
  EXPECT_TRUE(is_kept("2", "4"));
  EXPECT_FALSE(is_kept("4", "2"));
}

TEST(KeepChannelsLast, WeightsOfTwoConvolutionsAreOneConstant) {
  // The second convolution has `filters` filters of `taps` taps.
  const auto constants = [](int filters, int taps) {
    const std::string text =
        TextAfter(KeepAndClean,
                  absl::StrCat(R"(graph @g(%x: f32[B, 7, 16], %y: f32[B, 9, 16]) {
  %w = constant @w : f32[384]
  %m = reshape %w {shape = [1, 8, 48]}
)",
                               absl::Substitute("  %n = reshape %w {shape = [1, $0, $1]}\n", filters, 16 * taps),
                               "  %t = transpose %x {permutation = [0, 2, 1]}\n",
                               "  %u = transpose %y {permutation = [0, 2, 1]}\n", ConvText("d", "t", "m", 3, "B", "5"),
                               ConvText("e", "u", "n", taps, "B", absl::StrCat(10 - taps)), "  return %d, %e\n}"));
    return std::vector<std::string>(absl::StrSplit(text, "= constant")).size() - 1;
  };
  EXPECT_EQ(constants(8, 3), 1);
  EXPECT_EQ(constants(4, 6), 2);  // permuted otherwise
}

TEST(KeepChannelsLast, ChannelsFirstStay) {
  for (const auto& [inputs, before] : {std::pair<std::string, std::string>{"%y: f32[B, 16, T]", ""},
                                       {"%x: f32[B, 16, T], %z: f32[B, T, 16]",
                                        "  %t = transpose %z {permutation = [0, 2, 1]}\n  %y = add %x, %t\n"}}) {
    EXPECT_FALSE(absl::StrContains(Kept(inputs, before, "  return %d\n"), "axes = [1]")) << before;
  }
}

}  // namespace
}  // namespace tailor
