#include "fusion/simplify_algebra.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "fusion/remove_dead_nodes.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "tests/fusion/fused_text.h"

namespace tailor {
namespace {

absl::StatusOr<Graph> Simplified(const Graph& graph, const ShapeFacts& facts) {
  absl::StatusOr<Graph> simplified = SimplifyAlgebra(graph, facts);
  return simplified.ok() ? RemoveDeadNodes(*simplified, facts) : simplified;
}

// The graph text of `body` over float x and integer i.
std::string Wrap(const std::string& body) { return "graph @g(%x: f32[N], %i: i32[N]) {\n" + body + "}\n"; }

TEST(SimplifyAlgebra, NeutralOperandsGo) {
  EXPECT_EQ(TextAfter(Simplified, Wrap(R"(
  %one = constant 1 : f32[]
  %zero = constant 0 : f32[]
  %minus_zero = constant -0 : f32[]
  %a = mul %one, %x
  %b = div %a, %one
  %c = sub %b, %zero
  %d = add %c, %minus_zero
  %e = pow %d, %one
  %f = cast %e {dtype = f32}
  %y = neg %f
  %none = constant 0 : i32[]
  %j = add %none, %i
  %k = neg %j
  return %y, %k
)")),
            Wrap(R"(  %y = neg %x : f32[N]
  %k = neg %i : i32[N]
  return %y, %k
)"));
}

// 9 + 9 elements instead of 81; for 6 x 6 the pass over memory does not pay, nor where strides leave out most results.
TEST(SimplifyAlgebra, LargePoolsAreOnePassPerDim) {
  const auto pooled = [](const std::string& window, const std::string& op = "reduce_max", const char* dtype = "f32") {
    return TextAfter(Simplified,
                     absl::StrCat("graph @g(%x: ", dtype, "[N, 40, 30]) {\n  %w = window %x {axes = [1, 2], ", window,
                                  "}\n  %y = ", op, " %w {axes = [3, 4]}\n  return %y\n}\n"));
  };
  EXPECT_EQ(pooled("sizes = [9, 9], strides = [2, 1], dilations = [1, 3]"), R"(graph @g(%x: f32[N, 40, 30]) {
  %1 = window %x {axes = [1], sizes = [9], strides = [2]} : f32[N, 16, 30, 9]
  %2 = reduce_max %1 {axes = [3]} : f32[N, 16, 30]
  %3 = window %2 {axes = [2], sizes = [9], dilations = [3]} : f32[N, 16, 6, 9]
  %y = reduce_max %3 {axes = [3]} : f32[N, 16, 6]
  return %y
}
)");
  const auto windows = [](const std::string& text) {
    return std::vector<std::string>(absl::StrSplit(text, "window")).size() - 1;
  };
  EXPECT_EQ(windows(pooled("sizes = [10, 10]", "reduce_min")), 2);
  EXPECT_EQ(windows(pooled("sizes = [10, 10]", "reduce_sum")), 2);
  EXPECT_EQ(windows(pooled("sizes = [10, 10]", "reduce_mean")), 2);
  EXPECT_EQ(windows(pooled("sizes = [10, 10]", "reduce_max", "f16")), 2);
  EXPECT_EQ(windows(pooled("sizes = [10, 10]", "reduce_mean", "f16")), 1);  // would be rounded twice
  EXPECT_EQ(windows(pooled("sizes = [10, 10]", "reduce_prod")), 1);
  EXPECT_EQ(windows(pooled("sizes = [6, 6]")), 1);
  EXPECT_EQ(windows(pooled("sizes = [7, 7]")), 2);
  EXPECT_EQ(windows(pooled("sizes = [9, 9], strides = [9, 9]")), 1);
  EXPECT_EQ(windows(pooled("sizes = [1, 30]")), 1);
}

TEST(SimplifyAlgebra, ADimWithNeitherSizeNorStrideHasNoPass) {
  const std::string text = TextAfter(Simplified, R"(graph @g(%x: f32[N, 8, 40, 30]) {
  %w = window %x {axes = [1, 2, 3], sizes = [1, 9, 9]}
  %y = reduce_max %w {axes = [4, 5, 6]}
  return %y
}
)");
  EXPECT_EQ(std::vector<std::string>(absl::StrSplit(text, "window")).size() - 1, 2) << text;
}

// Each pass pads its own dim, unless that would leave out rows of padding with a sum.
TEST(SimplifyAlgebra, PassesOfPoolsPadOneDim) {
  const auto pads = [](const std::string& op, const std::string& value) {
    const std::string text =
        TextAfter(Simplified, "graph @g(%x: f32[N, 40, 30]) {\n  %v = constant " + value +
                                  " : f32[]\n  %p = pad %x, %v {low = [1, 4, 5], " +
                                  "high = [0, 4, 0]}\n  %w = window %p {axes = [1, 2], sizes = [9, 9]}\n  %y = " + op +
                                  " %w {axes = [3, 4]}\n  return %y\n}\n");
    return std::vector<std::string>(absl::StrSplit(text, "= pad")).size() - 1;
  };
  EXPECT_EQ(pads("reduce_max", "-inf"), 3);
  EXPECT_EQ(pads("reduce_max", "2"), 3);
  EXPECT_EQ(pads("reduce_mean", "2"), 3);
  EXPECT_EQ(pads("reduce_sum", "0"), 3);
  EXPECT_EQ(pads("reduce_sum", "2"), 1);
}

TEST(SimplifyAlgebra, SignedZerosAreSafe) {
  const std::string text = Wrap(R"(  %zero = constant 0 : f32[]
  %minus_zero = constant -0 : f32[]
  %a = add %x, %zero : f32[N]
  %b = sub %x, %minus_zero : f32[N]
  %c = mul %x, %zero : f32[N]
  %d = sub %zero, %x : f32[N]
  return %a, %b, %c, %d
)");
  EXPECT_EQ(TextAfter(Simplified, text), text);
}

TEST(SimplifyAlgebra, TypesStay) {
  const std::string text = R"(graph @g(%s: f32[], %x: f32[N]) {
  %one = constant [1] : f32[1]
  %a = mul %s, %one : f32[1]
  %b = add %a, %x : f32[N]
  return %b
}
)";
  EXPECT_EQ(TextAfter(Simplified, text), text);
}

TEST(SimplifyAlgebra, Square) {
  EXPECT_EQ(TextAfter(Simplified, Wrap(R"(
  %two = constant 2 : f32[]
  %a = pow %x, %two
  return %a
)")),
            Wrap(R"(  %a = mul %x, %x : f32[N]
  return %a
)"));
}

constexpr char kScores[] = R"(
graph @g(%q: f32[B, M, 64], %k: f32[B, N, 64]) {
  %a = constant 0.5 : f32[]
  %b = constant 0.25 : f32[]
  %x = mul %q, %a
  %turned = transpose %k {permutation = [0, 2, 1]}
  %y = mul %b, %turned
  %scores = dot %x, %y
  return %scores)";

TEST(ScaleOneOperand, TheLhs) {
  EXPECT_EQ(TextAfter(ScaleOneOperand, std::string(kScores) + "\n}"),
            R"(graph @g(%q: f32[B, M, 64], %k: f32[B, N, 64]) {
  %a = constant 0.5 : f32[]
  %b = constant 0.25 : f32[]
  %x = mul %q, %a : f32[B, M, 64]
  %turned = transpose %k {permutation = [0, 2, 1]} : f32[B, 64, N]
  %y = mul %b, %turned : f32[B, 64, N]
  %7 = mul %x, %b : f32[B, M, 64]
  %scores = dot %7, %turned : f32[B, M, N]
  return %scores
}
)");
}

TEST(ScaleOneOperand, NotWhatIsReadElsewhereOrLeavesTheRange) {
  const auto keeps = [](const std::string& text) {
    const std::string after = TextAfter(ScaleOneOperand, text);
    EXPECT_NE(after.find("dot %x, %y"), std::string::npos) << after;
  };
  keeps(std::string(kScores) + ", %y\n}");
  for (const char* scale : {"1.5", "1e-9", "0"}) {
    keeps(absl::StrReplaceAll(std::string(kScores) + "\n}", {{"0.25", scale}}));
  }
  keeps(absl::StrReplaceAll(std::string(kScores) + "\n}", {{"f32", "f16"}}));
}

// A tensor of bytes, dequantized, moved and quantized again, with the scale S and zero point Z.
constexpr char kTwice[] = R"(
graph @g(%q: i8[B, M, 64]) {
  %s = constant 0.03 : f32[]
  %z = constant 5 : i32[]
  %w = cast %q {dtype = i32}
  %d = sub %w, %z
  %f = cast %d {dtype = f32}
  %x = mul %f, %s
  %heads = reshape %x {shape = [B, M, 8, 8]}
  %turned = transpose %heads {permutation = [0, 2, 1, 3]}
  %t = constant S : f32[]
  %u = constant Z : f32[]
  %v = div %turned, %t
  %r = round %v
  %a = add %r, %u
  %y = cast %a {dtype = i8}
  return %y
})";

absl::StatusOr<Graph> QuantizedOnce(const Graph& graph, const ShapeFacts& facts) {
  absl::StatusOr<Graph> once = QuantizeOnce(graph, facts);
  return once.ok() ? RemoveDeadNodes(*once, facts) : once;
}

TEST(QuantizeOnce, WhatOnlyMoved) {
  EXPECT_EQ(TextAfter(QuantizedOnce, absl::StrReplaceAll(kTwice, {{"S", "0.03"}, {"Z", "5"}})),
            R"(graph @g(%q: i8[B, M, 64]) {
  %1 = reshape %q {shape = [B, M, 8, 8]} : i8[B, M, 8, 8]
  %2 = transpose %1 {permutation = [0, 2, 1, 3]} : i8[B, 8, M, 8]
  return "y" = %2
}
)");
}

TEST(QuantizeOnce, NotInAnotherWay) {
  const auto keeps = [](const std::vector<std::pair<absl::string_view, absl::string_view>>& changes) {
    std::string text = absl::StrReplaceAll(kTwice, changes);
    text = absl::StrReplaceAll(text, {{"S", "0.03"}, {"Z", "5"}});
    const std::string after = TextAfter(QuantizedOnce, text);
    EXPECT_NE(after.find("%y = cast %a"), std::string::npos) << after;
  };
  keeps({{"S", "0.04"}});
  keeps({{"Z", "6"}});
  keeps({{"constant 5", "constant 33554432"}, {"Z", "33554432"}});  // q - z rounds
  keeps({{"cast %a {dtype = i8}", "cast %a {dtype = u8}"}});
  keeps({{"0.03", "1e-37"}, {"S", "1e-37"}});  // products of small integers round to subnormal numbers
  keeps({{"div %turned, %t", "mul %turned, %t"}});
  keeps({{"round %v", "floor %v"}});
}

}  // namespace
}  // namespace tailor
