#include "graph/convolution.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/text.h"
#include "graph/verifier.h"
#include "tests/graph/evaluated_builder.h"

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

// A constant of f32 with `shape` whose last element is `last`, the others 1.
Value Weights(Graph& graph, std::vector<int64_t> dims, float last = 1) {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  auto numbers = std::make_shared<std::vector<float>>(count, 1.0f);
  numbers->back() = last;
  const void* data = numbers->data();
  return *graph.AddConstant("w", DType::kF32, Shape(dims.begin(), dims.end()),
                            {std::move(numbers), data, count * sizeof(float), {}});
}

TEST(Convolution, OfOnePointIsPaddedWhereItsProductsWouldBeZero) {
  EXPECT_EQ(
      Built(
          "%x: f32[N, 6, H, W], %b: f32[8]",
          [](Graph& g) {
            return Conv(g, kX, Weights(g, {8, 3, 1, 1}), {1, 0}, {.strides = {2, 1}, .low = {1, 0}, .high = {1, 2}}, 2);
          }),
      R"(  %w = constant @w : f32[8, 3, 1, 1] hash 7d8b3b08514eafdb
  %3 = slice %x {starts = [0, 0, min(H, 1), min(0, W)], sizes = [N, 6, floordiv(H, 2), W], steps = [1, 1, 2, 1]} : f32[N, 6, floordiv(H, 2), W]
  %4 = reshape %3 {shape = [N, 2, 3, W*floordiv(H, 2)]} : f32[N, 2, 3, W*floordiv(H, 2)]
  %5 = reshape %w {shape = [2, 4, 3]} : f32[2, 4, 3]
  %6 = dot %4, %5 {transpose_lhs = 1, transpose_rhs = 1} : f32[N, 2, W*floordiv(H, 2), 4]
  %7 = transpose %6 {permutation = [0, 1, 3, 2]} : f32[N, 2, 4, W*floordiv(H, 2)]
  %8 = reshape %7 {shape = [N, 8, floordiv(H, 2), W]} : f32[N, 8, floordiv(H, 2), W]
  %9 = constant 0 : f32[]
  %10 = pad %8, %9 {low = [0, 0, 1, 0], high = [0, 0, -floordiv(H, 2) + floordiv(H + 1, 2), 2]} : f32[N, 8, floordiv(H + 1, 2) + 1, W + 2]
  %11 = reshape %b {shape = [8, 1, 1]} : f32[8, 1, 1]
  %12 = add %10, %11 : f32[N, 8, floordiv(H + 1, 2) + 1, W + 2]
  return "y" = %12
}
)");
}

// The ops of the graph that `Built` makes, in order, but for named constants.
template <typename Build>
std::string OpsOf(const char* header, Build build) {
  std::string ops;
  const std::string text = Built(header, build);
  for (size_t at = text.find(" = "); at != std::string::npos; at = text.find(" = ", text.find('\n', at))) {
    const size_t op = at + 3;
    if (text.compare(op, 1, "%") != 0 && text.compare(op, 10, "constant @") != 0)
      ops += (ops.empty() ? "" : " ") + text.substr(op, text.find(' ', op) - op);
  }
  return ops;
}

TEST(Convolution, OfOnePointPadsItsOperandWhereItsPaddingIsNoCountOrItHasNoProducts) {
  const char* dense = "constant pad window transpose reshape reshape dot transpose reshape";
  EXPECT_EQ(OpsOf("%x: f32[N, 6, H], %p: f32[P]",
                  [](Graph& g) {
                    return Conv(g, kX, Weights(g, {8, 6, 1}), {},
                                {.strides = {2}, .low = {g.type({1, 0}).shape[0]}, .high = {1}}, 1);
                  }),
            dense);
  const char* xw = "%x: f32[N, 6, H]";
  EXPECT_EQ(OpsOf(xw,
                  [](Graph& g) {
                    return Conv(g, kX, Weights(g, {8, 6, 1}), {}, {.strides = {2}, .low = {-1}, .high = {1}}, 1);
                  }),
            dense);
  EXPECT_EQ(OpsOf(xw,
                  [](Graph& g) {
                    return Conv(g, kX, Weights(g, {8, 6, 1}), {}, {.low = {1}, .high = {-1}}, 1);
                  }),
            "constant pad reshape reshape dot transpose reshape");
  EXPECT_EQ(OpsOf(xw,
                  [](Graph& g) {
                    return Conv(g, kX, Weights(g, {6, 1, 1}), {}, {.strides = {2}, .low = {1}, .high = {1}}, 6);
                  }),
            "constant pad window reshape mul reduce_sum");
  EXPECT_EQ(OpsOf(xw,
                  [](Graph& g) {
                    return Conv(g, kX, Weights(g, {6, 1, 1}), {}, {.low = {1}, .high = {1}}, 6);
                  }),
            "constant pad reshape reshape dot transpose reshape");
  EXPECT_EQ(OpsOf(xw,
                  [](Graph& g) {
                    return Conv(g, kX, Weights(g, {8, 6, 1}), {}, {.strides = {2}}, 1);
                  }),
            "window transpose reshape reshape dot transpose reshape");
}

TEST(Convolution, OfOnePointPadsItsOperandWhereWeightsMayBeNonFinite) {
  const Windows windows = {.strides = {2}, .low = {1}, .high = {1}};
  const char* dense = "constant pad window transpose reshape reshape dot transpose reshape";
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float last : {kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_EQ(OpsOf("%x: f32[N, 6, H]",
                    [&](Graph& g) {
                      return Conv(g, kX, Weights(g, {8, 6, 1}, last), {}, windows, 1);
                    }),
              dense);
  }
  EXPECT_EQ(
      OpsOf("%x: f32[N, 6, H], %w: f32[8, 6, 1]", [&](Graph& g) { return Conv(g, kX, kWeights, {}, windows, 1); }),
      dense);
  EXPECT_EQ(OpsOf("%x: f32[N, 6, H]",
                  [&](Graph& g) {
                    return Conv(g, kX, Weights(g, {8, 6, 1}), {}, windows, 1);
                  }),
            "slice reshape reshape dot transpose reshape constant pad");
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

TEST(Convolution, OfOneOutputChannelIsASumOverChannelsOfDepthwiseOnes) {
  EXPECT_EQ(Built("%x: f32[N, 4, T], %w: f32[1, 4, 3], %b: f32[1]",
                  [](Graph& g) { return Conv(g, kX, kWeights, kBias, {}, 1); }),
            R"(  %3 = reshape %w {shape = [4, 1, 3]} : f32[4, 1, 3]
  %4 = window %x {axes = [2], sizes = [3]} : f32[N, 4, max(0, T - 2), 3]
  %5 = reshape %3 {shape = [4, 1, 3]} : f32[4, 1, 3]
  %6 = mul %4, %5 : f32[N, 4, max(0, T - 2), 3]
  %7 = reduce_sum %6 {axes = [3]} : f32[N, 4, max(0, T - 2)]
  %8 = reduce_sum %7 {axes = [1]} : f32[N, max(0, T - 2)]
  %9 = reshape %8 {shape = [N, 1, max(0, T - 2)]} : f32[N, 1, max(0, T - 2)]
  %10 = reshape %b {shape = [1, 1]} : f32[1, 1]
  %11 = add %9, %10 : f32[N, 1, max(0, T - 2)]
  return "y" = %11
}
)");
  // Sums over windows would be rounded to bf16, and a window of 81 elements is long.
  EXPECT_FALSE(absl::StrContains(
      Built("%x: bf16[N, 4, T], %w: bf16[1, 4, 3]", [](Graph& g) { return Conv(g, kX, kWeights, {}, {}, 1); }),
      "reduce_sum"));
  EXPECT_FALSE(absl::StrContains(
      Built("%x: f32[N, 4, H, W], %w: f32[1, 4, 9, 9]", [](Graph& g) { return Conv(g, kX, kWeights, {}, {}, 1); }),
      "reduce_sum"));
}

// Each result frame of a volume is a 2-D convolution of C * K channels.
TEST(Convolution, OfVolumesIsOfTheirFrames) {
  const std::string text = Built("%x: f32[N, 4, D, H, W], %w: f32[6, 4, 2, 3, 3]",
                                 [](Graph& g) { return Conv(g, kX, kWeights, {}, {}, 1); });
  EXPECT_TRUE(absl::StrContains(text, "f32[N, max(0, D - 1), 8, H, W]")) << text;
  const std::string pointwise = Built("%x: f32[N, 4, D, H, W], %w: f32[6, 4, 3, 1, 1]",
                                      [](Graph& g) { return Conv(g, kX, kWeights, {}, {}, 1); });
  EXPECT_TRUE(absl::StrContains(pointwise, "reshape %x {shape = [N, 4, D, H*W]}")) << pointwise;
  // Windows that cover a frame leave one row for each.
  for (const char* values :
       {"%x: f32[N, 4, D, 7, 7], %w: f32[6, 4, 1, 7, 7]", "%x: f32[N, 4, D, H, W], %w: f32[6, 4, 1, 9, 9]"}) {
    const std::string whole = Built(values, [](Graph& g) { return Conv(g, kX, kWeights, {}, {}, 1); });
    EXPECT_TRUE(absl::StrContains(whole, "axes = [2, 3, 4]")) << whole;
  }
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

// Whole numbers that differ from place to place.
reference::Array Counted(std::vector<int64_t> dims, int step) {
  std::vector<long double> values;
  for (int64_t i = 0; i < reference::CountOf(dims); ++i) values.push_back(static_cast<long double>(i * step % 11 - 5));
  return Numbers(DType::kF32, std::move(dims), values);
}

// Windows along the one spatial dim of x [2, 6, dim size].
struct Row {
  int64_t kernel, groups, stride, low, high;
};

// By the formula in convolution.h: weights are [4, 6 / groups, kernel], the bias is [4].
std::string ConvByFormula(const Row& row, const reference::Array& x, const reference::Array& weights,
                          const reference::Array& bias) {
  const int64_t dim_size = x.dims[2], channels = 6 / row.groups;
  const int64_t span = row.low + dim_size + row.high - row.kernel;
  const int64_t results = span < 0 ? 0 : span / row.stride + 1;
  std::vector<long double> values;
  for (int64_t n = 0; n < 2; ++n) {
    for (int64_t m = 0; m < 4; ++m) {
      for (int64_t o = 0; o < results; ++o) {
        long double sum = bias.elements[m].value;
        for (int64_t c = 0; c < channels; ++c) {
          for (int64_t k = 0; k < row.kernel; ++k) {
            const int64_t at = o * row.stride + k - row.low, channel = m / (4 / row.groups) * channels + c;
            if (at < 0 || at >= dim_size) continue;
            sum += x.elements[(n * 6 + channel) * dim_size + at].value *
                   weights.elements[(m * channels + c) * row.kernel + k].value;
          }
        }
        values.push_back(sum);
      }
    }
  }
  return Text(Numbers(DType::kF32, {2, 4, results}, values));
}

// With a dim size that is a symbol, and with each as it is.
void ExpectByFormula(const Row& row) {
  const auto build = [&](Graph& g) -> absl::StatusOr<std::vector<Value>> {
    const Windows windows{.strides = {row.stride}, .low = {row.low}, .high = {row.high}};
    const auto y = Conv(g, kX, kWeights, kBias, windows, row.groups);
    if (!y.ok()) return y.status();
    return std::vector<Value>{*y};
  };
  const auto graph_of = [&](const std::string& dim_size) {
    return BuiltGraph(
        absl::StrCat("%x: f32[2, 6, ", dim_size, "], %w: f32[4, ", 6 / row.groups, ", ", row.kernel, "], %b: f32[4]"),
        build);
  };
  const Graph symbolic = graph_of("H");
  const reference::Array weights = Counted({4, 6 / row.groups, row.kernel}, 3), bias = Counted({4}, 7);
  for (int64_t dim_size : {0, 1, 2, 5, 8}) {
    if (row.low + dim_size + row.high < 0) continue;  // is refused
    const reference::Array x = Counted({2, 6, dim_size}, 5);
    const auto results = [&](const Graph& graph, const std::vector<int64_t>& symbols) {
      const auto outputs = Evaluated(graph, symbols, {x, weights, bias});
      return outputs.empty() ? "none" : Text(outputs[0]);
    };
    const std::string want = ConvByFormula(row, x, weights, bias);
    const std::string where = absl::StrCat(dim_size, " by ", row.kernel, ", groups ", row.groups, ", stride ",
                                           row.stride, ", padding ", row.low, " and ", row.high);
    EXPECT_EQ(results(symbolic, {dim_size}), want) << where;
    EXPECT_EQ(results(graph_of(absl::StrCat(dim_size)), {}), want) << where;
    if (testing::Test::HasFailure()) return;
  }
}

TEST(Convolution, OfOnePointIsRightForEveryPaddingAndStride) {
  for (int64_t stride : {1, 2, 3}) {
    for (int64_t low : {0, 1, 2, 3, 4, 7}) {
      for (int64_t high : {0, 1, 2, 5}) {
        ExpectByFormula({1, 1 + (low + high) % 2, stride, low, high});
        if (HasFailure()) return;
      }
    }
  }
}

TEST(Convolution, OfOnePointIsRightWhereItCrops) {
  for (int64_t stride : {1, 2}) {
    ExpectByFormula({1, 2, stride, -1, 3});
    ExpectByFormula({1, 1, stride, 2, -1});
    ExpectByFormula({1, 2, stride, -2, -1});
  }
}

TEST(Convolution, OfTwoAndThreePointsIsRight) {
  for (int64_t kernel : {2, 3}) {
    for (int64_t stride : {1, 2}) {
      for (int64_t groups : {1, 2}) ExpectByFormula({kernel, groups, stride, 1, kernel - 1});
    }
  }
}

// Elements of windows that only meet padding are no weights: `kept` of `row.kernel`.
void ExpectKept(const Row& row, int64_t dim_size, int64_t kept, bool finite = true) {
  reference::Array weights = Counted({4, 6 / row.groups, row.kernel}, 3);
  if (!finite) weights.elements[0].value = std::numeric_limits<float>::infinity();
  const auto owner = std::make_shared<std::vector<float>>();
  for (const reference::Element& element : weights.elements) owner->push_back(static_cast<float>(element.value));
  std::vector<int64_t> dims;
  const auto build = [&](Graph& g) -> absl::StatusOr<std::vector<Value>> {
    const Value w = *g.AddConstant("w", DType::kF32, {4, 6 / row.groups, row.kernel},
                                   {owner, owner->data(), owner->size() * sizeof(float), {}});
    const Windows windows{.strides = {row.stride}, .low = {row.low}, .high = {row.high}};
    const auto y = Conv(g, kX, w, Value{1, 0}, windows, row.groups);
    if (!y.ok()) return y.status();
    return std::vector<Value>{*y};
  };
  const std::string where =
      absl::StrCat(dim_size, " by ", row.kernel, ", stride ", row.stride, ", padding ", row.low, " and ", row.high);
  const Graph graph = BuiltGraph(absl::StrCat("%x: f32[2, 6, ", dim_size, "], %b: f32[4]"), build);
  int64_t least = row.kernel;
  for (const Node& node : graph.nodes()) {
    if (node.op != OpKind::kConstant || node.results[0].shape.size() != 3) continue;
    least = std::min(least, *node.results[0].shape[2].constant());
  }
  EXPECT_EQ(least, kept) << where;
  if (!finite) return;
  const reference::Array x = Counted({2, 6, dim_size}, 5), bias = Counted({4}, 7);
  const auto outputs = Evaluated(graph, {}, {x, bias});
  ASSERT_EQ(outputs.size(), 1u) << where;
  EXPECT_EQ(Text(outputs[0]), ConvByFormula(row, x, weights, bias)) << where;
}

TEST(Convolution, LeavesOutElementsThatOnlyMeetPadding) {
  for (const int64_t groups : {1, 2}) {
    ExpectKept({3, groups, 1, 1, 1}, 1, 1);
    ExpectKept({3, groups, 1, 1, 1}, 2, 3);
    ExpectKept({3, groups, 2, 1, 1}, 2, 2);  // the one window begins before x
    ExpectKept({13, groups, 1, 6, 6}, 4, 7);
    ExpectKept({13, groups, 3, 6, 6}, 4, 7);
    ExpectKept({5, groups, 1, 0, 4}, 3, 3);
    ExpectKept({5, groups, 1, 4, 0}, 3, 3);
    ExpectKept({5, groups, 1, 4, 4}, 3, 5);
    ExpectKept({3, groups, 1, 5, 0}, 1, 1);
    ExpectKept({2, groups, 1, 0, 3}, 0, 2);
    ExpectKept({3, groups, 1, 1, 1}, 1, 3, /*finite=*/false);
  }
}

// x [2, 128, H, W] by weights [4, 128, 3, 2], dilated by 9 and 11 and padded to H and W.
constexpr int64_t kDeep = 128, kDown = 9, kAcross = 11;

std::string DilatedByFormula(const reference::Array& x, const reference::Array& weights) {
  const int64_t height = x.dims[2], width = x.dims[3];
  std::vector<long double> values;
  for (int64_t n = 0; n < 2; ++n) {
    for (int64_t m = 0; m < 4; ++m) {
      for (int64_t at = 0; at < height * width; ++at) {
        long double sum = 0;
        for (int64_t c = 0; c < kDeep; ++c) {
          for (int64_t tap = 0; tap < 6; ++tap) {
            const int64_t row = at / width + (tap / 2 - 1) * kDown, column = at % width + (tap % 2) * kAcross - 4;
            if (row < 0 || row >= height || column < 0 || column >= width) continue;
            sum += x.elements[((n * kDeep + c) * height + row) * width + column].value *
                   weights.elements[(m * kDeep + c) * 6 + tap].value;
          }
        }
        values.push_back(sum);
      }
    }
  }
  return Text(Numbers(DType::kF32, {2, 4, height, width}, values));
}

TEST(Convolution, ByTapsIsASumOfMatmulsInsideItsOperand) {
  const reference::Array weights = Counted({4, kDeep, 3, 2}, 3);
  std::vector<float> numbers;
  for (const reference::Element& element : weights.elements) numbers.push_back(static_cast<float>(element.value));
  const auto build = [&](Graph& g) -> absl::StatusOr<std::vector<Value>> {
    const auto owner = std::make_shared<std::vector<float>>(numbers);
    const Value w =
        *g.AddConstant("w", DType::kF32, {4, kDeep, 3, 2}, {owner, owner->data(), owner->size() * sizeof(float), {}});
    const Windows windows{.dilations = {kDown, kAcross}, .low = {kDown, 4}, .high = {kDown, kAcross - 4}};
    const auto y = Conv(g, kX, w, {}, windows, 1);
    if (!y.ok()) return y.status();
    return std::vector<Value>{*y};
  };
  const Graph graph = BuiltGraph("%x: f32[2, 128, H, W]", build);
  EXPECT_EQ(std::count_if(graph.nodes().begin(), graph.nodes().end(),
                          [](const Node& node) { return node.op == OpKind::kDot; }),
            6);
  for (const auto& [height, width] : {std::pair<int64_t, int64_t>{0, 3}, {1, 1}, {9, 4}, {10, 12}, {20, 5}}) {
    const reference::Array x = Counted({2, kDeep, height, width}, 5);
    const auto outputs = Evaluated(graph, {height, width}, {x});
    ASSERT_EQ(outputs.size(), 1u);
    EXPECT_EQ(Text(outputs[0]), DilatedByFormula(x, weights)) << height << " x " << width;
  }
}

// Chains of such layers must not grow the expressions of their dims.
TEST(Convolution, ByTapsKeepsDimsThatAreExpressions) {
  const Graph graph = BuiltGraph("%x: f32[N, 128, floordiv(H + 7, 8), floordiv(W + 7, 8)]",
                                 [](Graph& g) -> absl::StatusOr<std::vector<Value>> {
                                   const Windows windows{.dilations = {8, 8}, .low = {8, 8}, .high = {8, 8}};
                                   auto y = Conv(g, kX, Weights(g, {4, kDeep, 3, 3}), {}, windows, 1);
                                   if (!y.ok()) return y.status();
                                   return std::vector<Value>{*y};
                                 });
  const Shape &x = graph.type(kX).shape, &y = graph.type(graph.outputs()[0].value).shape;
  EXPECT_EQ(y[2], x[2]);
  EXPECT_EQ(y[3], x[3]);
}

// Dilations of 2 and 4 are Winograd's, unless it does not apply or images are small.
TEST(Convolution, IsByTapsForSquareWindowsThatWinogradLeaves) {
  const auto by_taps = [](const char* header, int64_t results, int64_t dilation, int64_t groups = 1) {
    const Windows windows{.dilations = {dilation, dilation}, .low = {dilation, dilation}, .high = {dilation, dilation}};
    const std::string ops = OpsOf(header, [&](Graph& g) {
      return Conv(g, kX, Weights(g, {results, 512 / groups, 3, 3}, 1), {}, windows, groups);
    });
    return ops.find("window") == std::string::npos;
  };
  EXPECT_FALSE(by_taps("%x: f32[N, 512, H, W]", 16, 4));
  EXPECT_FALSE(by_taps("%x: f32[N, 512, 20, 20]", 16, 4));
  EXPECT_FALSE(by_taps("%x: f32[N, 512, 10, 10]", 16, 2));
  EXPECT_TRUE(by_taps("%x: f32[N, 512, 19, 20]", 16, 4));
  EXPECT_TRUE(by_taps("%x: f32[N, 512, 9, 10]", 16, 2));
  EXPECT_TRUE(by_taps("%x: f32[N, 512, H, W]", 8, 4));
  EXPECT_TRUE(by_taps("%x: f32[N, 512, H, W]", 16, 4, 2));
  EXPECT_TRUE(by_taps("%x: f32[N, 512, H, W]", 16, 8));
}

TEST(Convolution, IsByTapsForLargeDilationsManyChannelsAndFiniteConstantWeights) {
  const auto windows_of = [](const char* header, auto weights, Windows windows) {
    const std::string ops = OpsOf(header, [&](Graph& g) { return Conv(g, kX, weights(g), {}, windows, 1); });
    return ops.find("window") != std::string::npos;
  };
  const auto constant = [](int64_t channels, float last = 1) {
    return [=](Graph& g) { return Weights(g, {4, channels, 3}, last); };
  };
  const Windows dilated{.dilations = {8}, .low = {8}, .high = {8}};
  EXPECT_FALSE(windows_of("%x: f32[N, 128, T]", constant(128), dilated));
  EXPECT_FALSE(windows_of("%x: f32[N, 512, T]", constant(512), {.dilations = {2}, .low = {4}, .high = {0}}));
  EXPECT_TRUE(windows_of("%x: f32[N, 64, T]", constant(64), dilated));
  EXPECT_TRUE(windows_of("%x: f32[N, 128, T]", constant(128), {.dilations = {7}, .low = {7}, .high = {7}}));
  EXPECT_TRUE(windows_of("%x: f32[N, 128, T]", constant(128), {.dilations = {8}, .low = {8}, .high = {7}}));
  EXPECT_TRUE(
      windows_of("%x: f32[N, 128, T]", constant(128), {.strides = {2}, .dilations = {8}, .low = {8}, .high = {8}}));
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(windows_of("%x: f32[N, 128, T]", constant(128, infinity), dilated));
  EXPECT_TRUE(windows_of(
      "%x: f32[N, 128, T], %w: f32[4, 128, 3]", [](Graph&) { return kWeights; }, dilated));
}

TEST(Convolution, OfOnePointWithPaddingChecksItsDilations) {
  EXPECT_EQ(Built("%x: f32[N, 3, H], %w: f32[8, 3, 1]",
                  [](Graph& g) {
                    return Conv(g, kX, kWeights, {}, {.strides = {2}, .dilations = {0}, .low = {1}, .high = {1}}, 1);
                  }),
            "window: attribute \"dilations\" has 0, needs at least 1");
}

TEST(Convolution, Errors) {
  const char* xw = "%x: f32[N, 3, H], %w: f32[8, 3, 3, 3]";
  EXPECT_EQ(Built(xw, [](Graph& g) { return Conv(g, kX, kWeights, {}, {}, 1); }),
            "conv: operand \"x\" (%x) has type f32[N, 3, H], but the windows have 2 dims: its rank must be 4");
  EXPECT_EQ(Built(xw, [](Graph& g) { return Conv(g, kWeights, kWeights, {}, {.strides = {1}}, 1); }),
            "conv: strides has 1 entries, but there are 2 spatial dims");
  EXPECT_EQ(Built(xw, [](Graph& g) { return Conv(g, kWeights, kWeights, {}, {}, 0); }),
            "conv: groups is 0, needs at least 1");
  const auto strided = [](Graph& g) {
    return Conv(g, kX, Weights(g, {4, 3, 3}), {}, {.strides = {0}, .low = {1}, .high = {1}}, 1);
  };
  EXPECT_EQ(Built("%x: f32[N, 3, 3]", strided), "window: attribute \"strides\" has 0, needs at least 1");
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
