#include "graph/convolution.h"

#include <gtest/gtest.h>

#include "graph/text.h"
#include "graph/verifier.h"

namespace tailor {
namespace {

constexpr Value kX{0, 0}, kWeights{1, 0}, kBias{2, 0};

// The body lines that `build` appends to a graph with the inputs of `header`, or the error.
template <typename Build>
std::string Built(const char* header, Build build) {
  Graph graph = *ParseGraph(std::string("graph @g(") + header + ") { return }");
  absl::StatusOr<Value> result = build(graph);
  if (!result.ok()) return std::string(result.status().message());
  EXPECT_TRUE(graph.AddOutput("y", *result).ok());
  EXPECT_EQ(VerifyGraph(graph), absl::OkStatus());
  std::string text = graph.ToText();
  EXPECT_EQ(ParseGraph(text)->ToText(), text);
  return text.substr(text.find('\n') + 1);
}

TEST(Convolution, IsAProductOfPatches) {
  EXPECT_EQ(Built("%x: f32[N, 3, H, W], %w: f32[8, 3, 3, 3], %b: f32[8]",
                  [](Graph& g) {
                    return Conv(g, kX, kWeights, kBias, {.strides = {2, 1}, .low = {1, 1}, .high = {1, 1}}, 1);
                  }),
            R"(  %3 = constant 0 : f32[]
  %4 = pad %x, %3 {low = [0, 0, 1, 1], high = [0, 0, 1, 1]} : f32[N, 3, H + 2, W + 2]
  %5 = window %4 {axes = [2, 3], sizes = [3, 3], strides = [2, 1]} : f32[N, 3, floordiv(H + 1, 2), W, 3, 3]
  %6 = transpose %5 {permutation = [0, 1, 4, 5, 2, 3]} : f32[N, 3, 3, 3, floordiv(H + 1, 2), W]
  %7 = reshape %6 {shape = [N, 1, 27, W*floordiv(H + 1, 2)]} : f32[N, 1, 27, W*floordiv(H + 1, 2)]
  %8 = reshape %w {shape = [1, 8, 27]} : f32[1, 8, 27]
  %9 = dot %7, %8 {transpose_lhs = 1, transpose_rhs = 1} : f32[N, 1, W*floordiv(H + 1, 2), 8]
  %10 = reshape %b {shape = [1, 1, 8]} : f32[1, 1, 8]
  %11 = add %9, %10 : f32[N, 1, W*floordiv(H + 1, 2), 8]
  %12 = transpose %11 {permutation = [0, 1, 3, 2]} : f32[N, 1, 8, W*floordiv(H + 1, 2)]
  %13 = reshape %12 {shape = [N, 8, floordiv(H + 1, 2), W]} : f32[N, 8, floordiv(H + 1, 2), W]
  return "y" = %13
}
)");
}

TEST(Convolution, OfOnePointReadsItsOperandInPlace) {
  EXPECT_EQ(
      Built("%x: f32[N, 6, H, W], %w: f32[8, 3, 1, 1]", [](Graph& g) { return Conv(g, kX, kWeights, {}, {}, 2); }),
      R"(  %2 = reshape %x {shape = [N, 2, 3, H*W]} : f32[N, 2, 3, H*W]
  %3 = reshape %w {shape = [2, 4, 3]} : f32[2, 4, 3]
  %4 = dot %2, %3 {transpose_lhs = 1, transpose_rhs = 1} : f32[N, 2, H*W, 4]
  %5 = transpose %4 {permutation = [0, 1, 3, 2]} : f32[N, 2, 4, H*W]
  %6 = reshape %5 {shape = [N, 8, H, W]} : f32[N, 8, H, W]
  return "y" = %6
}
)");
}

TEST(Convolution, DepthwiseIsASumOverWindows) {
  EXPECT_EQ(Built("%x: f32[N, 4, T], %w: f32[4, 1, 3], %b: f32[4]",
                  [](Graph& g) { return Conv(g, kX, kWeights, kBias, {.dilations = {2}}, 4); }),
            R"(  %3 = window %x {axes = [2], sizes = [3], dilations = [2]} : f32[N, 4, max(0, T - 4), 3]
  %4 = reshape %w {shape = [4, 1, 3]} : f32[4, 1, 3]
  %5 = mul %3, %4 : f32[N, 4, max(0, T - 4), 3]
  %6 = reduce_sum %5 {axes = [3]} : f32[N, 4, max(0, T - 4)]
  %7 = reshape %b {shape = [4, 1]} : f32[4, 1]
  %8 = add %6, %7 : f32[N, 4, max(0, T - 4)]
  return "y" = %8
}
)");
}

TEST(Convolution, ThreeDimsStayWithinTheLargestRank) {
  const std::string text = Built("%x: f32[N, 4, A, B, C], %w: f32[6, 2, 3, 3, 3]",
                                 [](Graph& g) { return Conv(g, kX, kWeights, {}, {}, 2); });
  EXPECT_NE(text.find("f32[N, 6, max(0, A - 2), max(0, B - 2), max(0, C - 2)]"), std::string::npos) << text;
}

TEST(Convolution, Pools) {
  const char* x = "%x: f16[N, C, T]";
  EXPECT_EQ(Built(x, [](Graph& g) { return MaxPool(g, kX, {2}, {.strides = {2}, .high = {1}}); }),
            R"(  %1 = constant -inf : f16[]
  %2 = pad %x, %1 {low = [0, 0, 0], high = [0, 0, 1]} : f16[N, C, T + 1]
  %3 = window %2 {axes = [2], sizes = [2], strides = [2]} : f16[N, C, floordiv(T + 1, 2), 2]
  %4 = reduce_max %3 {axes = [3]} : f16[N, C, floordiv(T + 1, 2)]
  return "y" = %4
}
)");
  EXPECT_EQ(Built(x, [](Graph& g) { return AveragePool(g, kX, {3}, {.low = {1}, .high = {1}}, true); }),
            R"(  %1 = constant 0 : f16[]
  %2 = pad %x, %1 {low = [0, 0, 1], high = [0, 0, 1]} : f16[N, C, T + 2]
  %3 = window %2 {axes = [2], sizes = [3]} : f16[N, C, T, 3]
  %4 = reduce_mean %3 {axes = [3]} : f16[N, C, T]
  return "y" = %4
}
)");
  EXPECT_EQ(Built(x, [](Graph& g) { return AveragePool(g, kX, {3}, {.low = {1}, .high = {1}}, false); }),
            R"(  %1 = constant 0 : f16[]
  %2 = pad %x, %1 {low = [0, 0, 1], high = [0, 0, 1]} : f16[N, C, T + 2]
  %3 = window %2 {axes = [2], sizes = [3]} : f16[N, C, T, 3]
  %4 = constant 1 : f16[]
  %5 = broadcast %4 {shape = [T]} : f16[T]
  %6 = constant 0 : f16[]
  %7 = pad %5, %6 {low = [1], high = [1]} : f16[T + 2]
  %8 = window %7 {axes = [0], sizes = [3]} : f16[T, 3]
  %9 = reduce_sum %3 {axes = [3]} : f16[N, C, T]
  %10 = reduce_sum %8 {axes = [1]} : f16[T]
  %11 = div %9, %10 : f16[N, C, T]
  return "y" = %11
}
)");
}

TEST(Convolution, Errors) {
  const char* xw = "%x: f32[N, 3, H], %w: f32[8, 3, 3, 3]";
  EXPECT_EQ(Built(xw, [](Graph& g) { return Conv(g, kX, kWeights, {}, {}, 1); }),
            "conv: operand \"x\" (%x) has type f32[N, 3, H], but the windows have 2 dims: its rank must be 4");
  EXPECT_EQ(Built(xw, [](Graph& g) { return Conv(g, kWeights, kWeights, {}, {.strides = {1}}, 1); }),
            "conv: strides has 1 entries, but there are 2 spatial dims");
  EXPECT_EQ(Built(xw, [](Graph& g) { return Conv(g, kWeights, kWeights, {}, {}, 0); }),
            "conv: groups is 0, needs at least 1");
  EXPECT_EQ(Built(xw,
                  [](Graph& g) {
                    return MaxPool(g, Value{9, 0}, {2}, {});
                  }),
            "max_pool: operand \"x\" is no value of this graph (node 9, result 0)");
  EXPECT_EQ(Built(xw,
                  [](Graph& g) {
                    return MaxPool(g, kX, {2}, {.low = {0, 0}});
                  }),
            "max_pool: low has 2 entries, but there are 1 spatial dims");
}

}  // namespace
}  // namespace tailor
