// Convolutions of all forms, whose windows matmuls read in place or from a staging buffer, against the reference.
#include "graph/convolution.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/text.h"
#include "gtest/gtest.h"
#include "tests/fuzz/check_graph.h"
#include "tests/fuzz/expect_right.h"
#include "tests/fuzz/small_numbers.h"

namespace tailor {
namespace {

struct Form {
  std::string x;  // "N, 6, H, W"
  std::vector<int64_t> weights;
  Windows windows;
  int64_t groups = 1;
};

std::string DimsText(const std::vector<int64_t>& dims) {
  std::string text;
  for (int64_t dim : dims) absl::StrAppend(&text, text.empty() ? "" : ", ", dim);
  return text;
}

Graph Made(const Form& form, const std::string& dtype, bool constant_weights) {
  const std::string dims = DimsText(form.weights);
  const std::string weights = constant_weights ? absl::StrCat(") {\n  %w = constant @w : ", dtype, "[", dims, "]\n")
                                               : absl::StrCat(", %w: ", dtype, "[", dims, "]) {\n");
  const std::string text = absl::StrCat("graph @conv(%x: ", dtype, "[", form.x, "]", weights, "  return\n}");
  Graph graph = *ParseGraph(text, SmallNumbers);
  const auto y = Conv(graph, {0, 0}, {1, 0}, {}, form.windows, form.groups);
  EXPECT_TRUE(y.ok()) << y.status();
  const auto squared = graph.Append(OpKind::kMul, {*y, *y});  // an epilogue
  EXPECT_TRUE(graph.AddOutput("y", Value{*squared, 0}).ok());
  return graph;
}

void ExpectRight(const Form& form) {
  constexpr std::pair<const char*, bool> kKinds[] = {{"f32", true}, {"f32", false}, {"bf16", true}, {"f64", true}};
  for (const auto& [dtype, constant_weights] : kKinds) {
    const Graph graph = Made(form, dtype, constant_weights);
    for (const auto& device : DevicesOfToday(absl::StrCat(form.x, DimsText(form.weights), dtype, constant_weights))) {
      const CheckResult result = CheckGraphInChild(graph, *device, 1);
      EXPECT_EQ(result.failure, "") << dtype << " on " << device->name() << ": " << form.x << " * "
                                    << DimsText(form.weights);
      EXPECT_GT(result.compared, 0);
    }
  }
}

TEST(Convolutions, Padded) {
  ExpectRight({"N, 6, 9, 9", {20, 6, 3, 3}, {.low = {1, 1}, .high = {1, 1}}});
  ExpectRight({"N, 3, H, W", {5, 3, 3, 5}, {.low = {1, 0}, .high = {2, 4}}});
  ExpectRight({"N, C, 14, 30", {8, 4, 1, 1}, {.low = {2, 1}, .high = {0, 1}}, 2});
}

// Few channels per group: lanes run along the lines of the image, which end within vectors.
TEST(Convolutions, OfFewChannels) {
  ExpectRight({"N, 4, H, 37", {5, 4, 3, 3}, {.low = {1, 1}, .high = {1, 1}}});
  ExpectRight({"N, 6, H, 21", {10, 3, 3, 5}, {.strides = {1, 2}, .low = {1, 2}, .high = {1, 2}}, 2});
  ExpectRight(
      {"N, 4, 7, 7", {12, 1, 3, 3}, {.strides = {2, 1}, .dilations = {1, 2}, .low = {1, 2}, .high = {1, 2}}, 4});
  ExpectRight({"N, 3, H, 40", {24, 3, 3, 3}, {.strides = {2, 2}, .low = {1, 1}, .high = {1, 1}}});  // in passes
}

// Rows in lanes that are every second column: lines of the staging buffer hold even columns, then odd ones.
TEST(Convolutions, OfEverySecondColumn) {
  ExpectRight({"N, 3, H, W", {8, 3, 3, 3}, {.strides = {2, 2}, .low = {1, 1}, .high = {1, 1}}});
  ExpectRight({"N, 3, H, W", {32, 3, 3, 4}, {.strides = {1, 2}, .low = {0, 2}, .high = {1, 1}}});
  ExpectRight({"N, 3, H, 67", {24, 3, 5, 5}, {.strides = {2, 2}, .dilations = {1, 3}, .low = {2, 6}, .high = {2, 6}}});
  ExpectRight({"N, 2, L", {7, 2, 6}, {.strides = {2}, .dilations = {2}, .low = {5}, .high = {4}}});
  ExpectRight({"N, 290, 3, W", {4, 290, 2, 2}, {.strides = {1, 2}, .low = {0, 1}, .high = {0, 0}}});  // K in parts
}

// Tasks of windows are about whole lines of the image, where these are no longer than a task, and whole tiles: the
// staging buffer holds no more rows.
TEST(Convolutions, OfManyLines) {
  const Windows strided = {.strides = {2, 2}, .low = {1, 1}, .high = {1, 1}};
  ExpectRight({"1, 4, 23, 61", {4, 2, 3, 3}, strided, 2});
  ExpectRight({"1, 1, 3, 499", {2, 1, 3, 3}, strided});
  ExpectRight({"1, 1, 31, 41", {13, 1, 3, 3}, strided});
  ExpectRight({"1, 1, 35, W + 20", {4, 1, 3, 3}, strided});
  ExpectRight({"1, 1, 8, 64", {18, 1, 7, 7}, {.strides = {2, 2}, .low = {3, 3}, .high = {3, 3}}});
}

// Which columns are odd ones counts from the first one that is staged, which lies at an odd place.
TEST(Convolutions, OfEverySecondColumnFromAnOddOneOn) {
  tailor::ExpectRight(R"(
graph @g(%x: f32[N, 3, 2*W + 40], %w: f32[15, 8]) where N in [1, 3], W in [1, 60] {
  %z = constant 0 : f32[]
  %r = pad %x, %z {low = [0, 0, 3], high = [0, 0, 2]}
  %s = slice %r {starts = [0, 0, 1], sizes = [N, 3, 2*W + 40]}
  %win = window %s {axes = [2], sizes = [5], strides = [2]}
  %t = transpose %win {permutation = [0, 1, 3, 2]}
  %u = reshape %t {shape = [N, 15, W + 18]}
  %d = dot %u, %w {transpose_lhs = 1}
  %y = transpose %d {permutation = [0, 2, 1]}
  return %y
})");
  tailor::ExpectRight(R"(
graph @g(%x: f32[N, 3, 2*W + 40], %w: f32[15, 24]) where N in [1, 3], W in [1, 60] {
  %z = constant 0 : f32[]
  %r = pad %x, %z {low = [0, 0, 3], high = [0, 0, 2]}
  %win = window %r {axes = [2], sizes = [5]}
  %s = slice %win {starts = [0, 0, 1, 0], sizes = [N, 3, W, 5], steps = [1, 1, 2, 1]}
  %t = transpose %s {permutation = [0, 1, 3, 2]}
  %u = reshape %t {shape = [N, 15, W]}
  %d = dot %u, %w {transpose_lhs = 1}
  %y = transpose %d {permutation = [0, 2, 1]}
  return %y
})");
}

// On CPUs with eight lanes, tiles of one and a half panels.
TEST(Convolutions, OfOneAndAHalfPanels) {
  ExpectRight({"N, 70, H, W", {24, 70, 1, 1}, {}});
  ExpectRight({"N, 9, H, W", {20, 9, 3, 3}, {.strides = {2, 1}, .low = {1, 1}, .high = {1, 1}}});
  ExpectRight({"N, 24, 5, W", {51, 8, 3, 3}, {.low = {1, 1}, .high = {1, 1}}, 3});
  ExpectRight({"N, 300, 3, W", {18, 300, 2, 2}, {.low = {1, 1}, .high = {0, 0}}});  // K in parts
}

// Taps far apart are staged apart (codegen/plan/far_taps.h).
TEST(Convolutions, OfFarTaps) {
  ExpectRight({"N, 3, H, W", {5, 3, 3, 2}, {.strides = {2, 1}, .dilations = {17, 9}, .low = {17, 9}, .high = {9, 0}}});
  ExpectRight({"N, 4, L", {20, 4, 3}, {.strides = {1}, .dilations = {200}, .low = {200}, .high = {200}}});
}

TEST(Convolutions, InPlace) {
  ExpectRight({"N, 6, H, W", {20, 6, 3, 3}, {.strides = {2, 1}}});
  ExpectRight({"N, 8, 12, 12", {6, 4, 2, 2}, {.strides = {1, 3}, .dilations = {2, 1}}, 2});
  ExpectRight({"N, 6, H, 10", {70, 6, 1, 1}, {.strides = {2, 2}}});
  ExpectRight({"N, 6, H, 10", {9, 6, 1, 1}, {}});
  ExpectRight({"1, 3, 50, 41", {5, 3, 1, 1}, {}});  // channels lie pages apart
}

// Strided images of many channels: tasks pack the rows that they multiply (codegen/cpu/gemm/pack_rows.h).
TEST(Convolutions, OfPackedRows) {
  ExpectRight({"1, 98, 3, 3", {260, 98, 1, 1}, {.strides = {2, 2}}});
  ExpectRight({"N, 97, 1, 9", {257, 97, 1, 1}, {.strides = {1, 2}}});
}

// On CPUs in f32 by Winograd's algorithm (winograd_test.cc), where the weights are known.
TEST(Convolutions, OfThreeByThreePoints) {
  ExpectRight({"N, 17, H, W", {20, 17, 3, 3}, {.low = {1, 1}, .high = {1, 1}}});
}

TEST(Convolutions, OfOnePointWithMorePaddingThanStrides) {
  ExpectRight({"N, 8, H, W", {6, 4, 1, 1}, {.strides = {2, 3}, .low = {3, 1}, .high = {1, 4}}, 2});
}

TEST(Convolutions, OfOneAndThreeDims) {
  ExpectRight({"N, 5, T", {18, 5, 4}, {.strides = {2}, .low = {3}, .high = {0}}});
  ExpectRight({"N, 3, D, H, W", {5, 3, 3, 1, 1}, {.low = {1, 0, 0}, .high = {1, 0, 0}}});
  ExpectRight({"N, 3, D, H, W", {5, 3, 3, 1, 1}, {.strides = {2, 1, 1}, .dilations = {2, 3, 3}}});
  ExpectRight({"N, 3, D, H, W", {5, 3, 3, 1, 1}, {.strides = {1, 2, 2}, .low = {1, 0, 0}}});
  ExpectRight({"N, 3, D, H, W", {5, 3, 2, 1, 1}, {.low = {0, 1, 0}, .high = {1, 0, 2}}});
  ExpectRight({"N, 3, D, H, W", {5, 3, 3, 2, 4}, {.strides = {2, 2, 1}, .low = {1, 1, 1}, .high = {1, 0, 2}}});
  ExpectRight({"N, 4, 5, H, 7", {3, 4, 2, 3, 1}, {.dilations = {1, 2, 1}, .low = {1, 0, 1}, .high = {0, 2, 0}}});
}

TEST(Convolutions, OfOneOutputChannel) {
  ExpectRight({"N, 6, H, W", {1, 6, 3, 5}, {.low = {1, 2}, .high = {1, 2}}});
  ExpectRight({"N, 5, H, 21", {1, 5, 2, 2}, {.strides = {1, 2}, .dilations = {3, 1}}});
  ExpectRight({"N, 1, H, W", {1, 1, 3, 3}, {.low = {0, 1}, .high = {2, 0}}});
  ExpectRight({"N, 7, T", {1, 7, 7}, {.low = {3}, .high = {3}}});
  ExpectRight({"N, 3, D, H, W", {1, 3, 2, 3, 3}, {.low = {1, 1, 1}, .high = {0, 1, 1}}});
}

TEST(Convolutions, LongDepthIsTakenInParts) {
  ExpectRight({"1, 130, 3, 4", {6, 130, 3, 3}, {.low = {1, 1}, .high = {1, 1}}});
  ExpectRight({"1, 300, 3, 5", {6, 300, 2, 2}, {.strides = {1, 2}}});
}

// The layers of networks on images: between the matmuls channels are last in memory (fusion/image_layouts.h).
TEST(Convolutions, FollowEachOther) {
  Graph graph = *ParseGraph(R"(graph @net(%x: f32[N, 3, H, W]) where N in [1, 3], H in [1, 12], W in [1, 12] {
  %w1 = constant @w1 : f32[20, 3, 3, 3]
  %w2 = constant @w2 : f32[32, 20, 1, 1]
  %w3 = constant @w3 : f32[32, 1, 3, 5]
  %w4 = constant @w4 : f32[20, 32, 1, 1]
  %w5 = constant @w5 : f32[16, 20, 2, 3]
  %b = constant @b : f32[32]
  %s = constant @s : f32[1, 32, 1, 1]
  return
})",
                            SmallNumbers);
  const auto next = [](const absl::StatusOr<Value>& value) {
    EXPECT_TRUE(value.ok()) << value.status();
    return *value;
  };
  const auto apply = [&](OpKind op, std::initializer_list<Value> operands, Attributes attributes = {}) {
    return Value{*graph.Append(op, operands, std::move(attributes)), 0};
  };
  const Value none = {-1, 0}, bias = {6, 0}, scale = {7, 0};
  const Value x = next(Conv(graph, {0, 0}, {1, 0}, none, {.strides = {2, 2}, .low = {1, 1}, .high = {1, 1}}, 1));
  const Value first = next(MaxPool(graph, x, {3, 3}, {.strides = {1, 1}, .low = {1, 1}, .high = {1, 1}}));
  Value y = apply(OpKind::kMul, {next(Conv(graph, first, {2, 0}, bias, {}, 1)), scale});
  y = next(Conv(graph, y, {3, 0}, bias, {.low = {1, 2}, .high = {1, 2}}, 32));
  const Value gate = apply(OpKind::kReduceMean, {y}, {{"axes", std::vector<int64_t>{2, 3}}, {"keep_dims", int64_t{1}}});
  y = apply(OpKind::kMul, {y, apply(OpKind::kSigmoid, {gate})});
  y = apply(OpKind::kAdd, {first, next(Conv(graph, y, {4, 0}, none, {}, 1))});
  const Value last = next(AveragePool(graph, y, {2, 2}, {.strides = {2, 2}, .low = {1, 0}, .high = {0, 1}}, false));
  y = next(Conv(graph, y, {5, 0}, none, {.strides = {2, 1}, .low = {1, 1}, .high = {1, 1}}, 1));
  EXPECT_TRUE(graph.AddOutput("y", y).ok());
  EXPECT_TRUE(graph.AddOutput("last", apply(OpKind::kReduceMax, {last}, {{"axes", std::vector<int64_t>{2, 3}}})).ok());
  for (const auto& device : DevicesUnderTest()) {
    for (const uint64_t seed : {1, 2}) {
      const CheckResult result = CheckGraphInChild(graph, *device, seed);
      EXPECT_EQ(result.failure, "") << device->name();
      EXPECT_GT(result.compared, 0);
    }
  }
}

}  // namespace
}  // namespace tailor
