// Convolutions by Winograd's algorithm on all CPU levels, against the reference. Elements are integers for which no
// step rounds, so that results are equal.
#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "codegen/link/target_machine.h"
#include "codegen/lower/lower_graph.h"
#include "graph/convolution.h"
#include "graph/element.h"
#include "graph/text.h"
#include "gtest/gtest.h"
#include "tests/support/device.h"
#include "tests/support/reference_evaluator.h"
#include "tests/support/reference_shapes.h"

namespace tailor {
namespace {

using reference::Array;
using reference::Dims;

const Windows kPadded{.low = {1, 1}, .high = {1, 1}};

// Whole numbers from -most to most, other ones for other seeds.
Array WholeNumbers(DType dtype, const Dims& dims, int most, uint32_t seed) {
  Array array{dtype, dims, {}};
  std::mt19937 random(seed);
  for (int64_t i = reference::CountOf(dims); i > 0; --i) {
    array.elements.push_back({static_cast<long double>(random() % (2 * most + 1)) - most});
  }
  return array;
}

ConstantData Constants(absl::string_view name, const TensorType& type) {
  const Dims dims = *reference::EvaluateDims(type.shape, {});
  auto bytes = std::make_shared<std::vector<std::byte>>(
      reference::ToBytes(WholeNumbers(type.dtype, dims, 2, static_cast<uint32_t>(name.back()))));
  return {bytes, bytes->data(), bytes->size(), {}};
}

Graph Parsed(const std::string& text) {
  auto graph = ParseGraph(text, Constants);
  EXPECT_TRUE(graph.ok()) << graph.status() << "\n" << text;
  return *std::move(graph);
}

// What `build` makes of x and the constant weights.
Graph Made(const std::string& x, const std::string& weights,
           const std::function<absl::StatusOr<Value>(Graph&, Value x, Value weights)>& build) {
  Graph graph =
      Parsed(absl::StrCat("graph @g(%x: f32[", x, "]) {\n  %w = constant @w : f32[", weights, "]\n  return\n}"));
  const auto y = build(graph, {0, 0}, {1, 0});
  EXPECT_TRUE(y.ok()) << y.status();
  EXPECT_TRUE(graph.AddOutput("y", *y).ok());
  return graph;
}

Graph ConvOf(const std::string& x, const std::string& weights, const Windows& windows) {
  return Made(x, weights,
              [&](Graph& graph, Value x, Value weights) { return Conv(graph, x, weights, {}, windows, 1); });
}

// The same of x [N, H, W, C], with results channels last.
Graph ConvOfChannelsLast(const std::string& x, const std::string& weights, const Windows& windows) {
  return Made(x, weights, [&](Graph& graph, Value x, Value weights) -> absl::StatusOr<Value> {
    const auto moved = [&](Value v, std::vector<int64_t> permutation) {
      return Value{*graph.Append(OpKind::kTranspose, {v}, {{"permutation", std::move(permutation)}}), 0};
    };
    const auto y = Conv(graph, moved(x, {0, 3, 1, 2}), weights, {}, windows, 1);
    return y.ok() ? moved(*y, {0, 2, 3, 1}) : y;
  });
}

// How many kernels multiply by Winograd's algorithm, the same on all levels.
int ByWinograd(const Graph& graph) {
  std::vector<int> counts;
  for (const CpuTarget& level : CpuLevels()) {
    const auto lowered = lower::LowerGraph(graph, level.traits);
    EXPECT_TRUE(lowered.ok()) << lowered.status();
    counts.push_back(0);
    for (const KernelPlan& plan : lowered->kernels) {
      for (const Buffer& buffer : plan.buffers) counts.back() += buffer.layout == ConstantLayout::kWinogradPanels16;
    }
  }
  EXPECT_EQ(std::count(counts.begin(), counts.end(), counts[0]), static_cast<int64_t>(counts.size()));
  return counts[0];
}

// Levels with instructions for bf16 run programs in f32 as others do.
std::vector<std::unique_ptr<TestDevice>> Levels() {
  std::vector<std::unique_ptr<TestDevice>> levels = CpuDevices();
  std::erase_if(levels, [](const auto& device) { return absl::StrContains(device->name(), "bf16"); });
  return levels;
}

std::vector<Array> InputsOf(const Graph& graph, const std::vector<int64_t>& symbols) {
  std::vector<Array> inputs;
  for (NodeId id : graph.inputs()) {
    const TensorType& type = graph.type({id, 0});
    inputs.push_back(WholeNumbers(type.dtype, *reference::EvaluateDims(type.shape, symbols), 3, 7 + id));
  }
  return inputs;
}

std::vector<HostTensor> ToHost(const std::vector<Array>& arrays) {
  std::vector<HostTensor> tensors;
  for (const Array& array : arrays) tensors.push_back({array.dtype, array.dims, reference::ToBytes(array)});
  return tensors;
}

void ExpectEqual(const std::vector<HostTensor>& got, const std::vector<Array>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t o = 0; o < want.size(); ++o) {
    ASSERT_EQ(got[o].dims, want[o].dims) << "output " << o;
    const Array values = reference::FromBytes(got[o].dtype, got[o].dims, got[o].bytes.data());
    for (size_t i = 0; i < want[o].elements.size(); ++i) {
      ASSERT_EQ(values.elements[i].value, want[o].elements[i].value) << "output " << o << ", element " << i;
    }
  }
}

// Runs by one thread, and that of two and five, in memory of the caller's, the same bits come.
void ExpectRightAt(const std::vector<HostTensor>& inputs, const std::vector<Array>& want, TestProgram& program) {
  const auto alone = program.Run(inputs, 1);
  ASSERT_TRUE(alone.ok()) << alone.status();
  ExpectEqual(*alone, want);
  for (int threads : {2, 5, 16}) {
    std::vector<HostTensor> together = *alone;
    for (HostTensor& tensor : together) std::fill(tensor.bytes.begin(), tensor.bytes.end(), std::byte{0x5a});
    ASSERT_EQ(program.RunInto(inputs, threads, &together), absl::OkStatus());
    for (size_t o = 0; o < together.size(); ++o)
      EXPECT_EQ((*alone)[o].bytes, together[o].bytes) << threads << " threads";
  }
}

// Of graphs of which `winograd` kernels are by Winograd's algorithm, at all of `symbols`.
void ExpectRight(const Graph& graph, const std::vector<std::vector<int64_t>>& symbols, int winograd = 1) {
  ASSERT_EQ(ByWinograd(graph), winograd);
  std::vector<std::unique_ptr<TestProgram>> programs;
  for (const auto& device : Levels()) {
    auto program = device->Compile(graph);
    ASSERT_TRUE(program.ok()) << program.status();
    programs.push_back(*std::move(program));
  }
  for (const std::vector<int64_t>& at : symbols) {
    SCOPED_TRACE(absl::StrCat("at ", absl::StrJoin(at, ", ")));
    const std::vector<Array> inputs = InputsOf(graph, at);
    const auto want = reference::Evaluate(graph, at, inputs);
    ASSERT_TRUE(want.ok()) << want.status();
    for (size_t i = 0; i < programs.size(); ++i) {
      SCOPED_TRACE(Levels()[i]->name());
      ExpectRightAt(ToHost(inputs), want->outputs, *programs[i]);
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(Winograd, ImagesOfAllSizes) {
  ExpectRight(ConvOf("N, 17, H, W", "40, 17, 3, 3", kPadded), {{1, 1, 1},
                                                               {2, 1, 7},
                                                               {1, 8, 1},
                                                               {1, 2, 2},
                                                               {1, 3, 3},
                                                               {3, 5, 6},
                                                               {1, 6, 5},
                                                               {1, 19, 20},
                                                               {0, 5, 5},
                                                               {2, 0, 5},
                                                               {2, 5, 0},
                                                               {2, 4, 4}});
}

TEST(Winograd, WithoutPaddingSmallImagesHaveNoResults) {
  ExpectRight(ConvOf("N, 16, H, W", "16, 16, 3, 3", {}),
              {{1, 3, 3}, {2, 4, 4}, {1, 2, 9}, {1, 9, 2}, {1, 0, 0}, {1, 1, 1}, {1, 3, 9}, {2, 9, 3}, {1, 7, 6}});
}

TEST(Winograd, PaddingOnOneSideAndWiderThanAWindow) {
  ExpectRight(ConvOf("N, 19, H, W", "33, 19, 3, 3", {.low = {4, 0}, .high = {0, 5}}),
              {{1, 1, 1}, {2, 3, 4}, {1, 6, 5}, {1, 0, 3}, {1, 4, 0}});
}

TEST(Winograd, DilatedWindows) {
  for (int64_t d : {2, 4}) {
    SCOPED_TRACE(absl::StrCat("dilation ", d));
    const Windows padded = {.dilations = {d, d}, .low = {d, d}, .high = {d, d}};
    ExpectRight(ConvOf("N, 17, H, W", "40, 17, 3, 3", padded),
                {{1, 1, 1}, {2, 1, 9}, {1, 8, 1}, {1, 2, 2}, {1, 5, 3}, {3, 7, 6}, {1, 19, 22}, {2, 0, 5}, {2, 9, 8}});
    ExpectRight(ConvOf("N, 16, H, W", "17, 16, 3, 3", padded), {{1, 3, 205}, {1, 33, 12}});
    ExpectRight(ConvOf("N, 16, H, W", "16, 16, 3, 3", {.dilations = {d, d}}),
                {{1, 3, 3}, {2, 2 * d + 1, 2 * d + 1}, {1, 2 * d, 12}, {1, 11, 2 * d + 5}, {1, 0, 0}, {1, 23, 18}});
    ExpectRight(ConvOf("1, 18, 17, 18", "20, 18, 3, 3", padded), {{}});
    ExpectRight(ConvOf("N, 400, H, W", "16, 400, 3, 3", padded), {{1, 1, 41}, {1, 41, 1}});
  }
}

TEST(Winograd, ImagesChannelsLast) {
  const Graph graph = ConvOfChannelsLast("N, H, W, 27", "40, 27, 3, 3", kPadded);
  for (const CpuTarget& level : CpuLevels()) {
    const auto lowered = lower::LowerGraph(graph, level.traits);
    ASSERT_TRUE(lowered.ok()) << lowered.status();
    ASSERT_EQ(lowered->kernels.size(), 1u) << "an image is transposed";
    EXPECT_TRUE(std::get<ContractionForm>(lowered->kernels[0].form).channels_last);
  }
  ExpectRight(graph,
              {{1, 1, 1}, {2, 1, 7}, {1, 8, 1}, {1, 3, 3}, {3, 5, 6}, {1, 13, 14}, {0, 5, 5}, {2, 0, 5}, {2, 5, 0}});
  ExpectRight(ConvOfChannelsLast("N, H, W, 16", "16, 16, 3, 3", kPadded), {{1, 3, 205}, {1, 33, 12}});
  ExpectRight(ConvOfChannelsLast("N, H, W, 16", "16, 16, 3, 3", {}), {{1, 3, 3}, {1, 2, 9}, {1, 0, 0}, {1, 7, 6}});
  ExpectRight(ConvOfChannelsLast("N, H, W, 48", "33, 48, 3, 3", {.low = {4, 0}, .high = {0, 5}}),
              {{1, 1, 1}, {2, 3, 4}, {1, 6, 5}, {1, 0, 3}, {1, 4, 0}});
  ExpectRight(ConvOfChannelsLast("N, H, W, 16", "300, 16, 3, 3", kPadded), {{1, 4, 4}, {2, 3, 5}, {0, 3, 3}});
  ExpectRight(ConvOfChannelsLast("N, H, W, 400", "16, 400, 3, 3", kPadded), {{1, 1, 41}, {1, 41, 1}});
  ExpectRight(ConvOfChannelsLast("2, 9, 7, 30", "48, 30, 3, 3", kPadded), {{}});
}

TEST(Winograd, DilatedWindowsChannelsLast) {
  for (int64_t d : {2, 4}) {
    SCOPED_TRACE(absl::StrCat("dilation ", d));
    const Windows padded = {.dilations = {d, d}, .low = {d, d}, .high = {d, d}};
    ExpectRight(ConvOfChannelsLast("N, H, W, 27", "40, 27, 3, 3", padded),
                {{1, 1, 1}, {2, 1, 9}, {1, 8, 1}, {1, 5, 3}, {2, 7, 6}, {1, 11, 14}, {2, 0, 5}});
    ExpectRight(ConvOfChannelsLast("N, H, W, 16", "16, 16, 3, 3", padded), {{1, 3, 205}, {1, 33, 12}});
    ExpectRight(ConvOfChannelsLast("N, H, W, 64", "16, 64, 3, 3", {.dilations = {d, d}}),
                {{1, 3, 3}, {2, 2 * d + 1, 2 * d + 1}, {1, 2 * d, 12}, {1, 11, 2 * d + 5}, {1, 0, 0}});
  }
}

TEST(Winograd, FramesOfVolumes) {
  const Windows padded = {.low = {1, 1, 1}, .high = {1, 1, 1}};
  const std::vector<std::vector<int64_t>> sizes = {
      {1, 1, 1, 1}, {2, 3, 4, 5}, {1, 4, 7, 6}, {1, 0, 3, 3}, {1, 2, 0, 3}};
  ExpectRight(ConvOf("N, 6, D, H, W", "20, 6, 3, 3, 3", padded), sizes);
  ExpectRight(ConvOf("N, 17, D, H, W", "33, 17, 1, 3, 3", {.low = {0, 1, 1}, .high = {0, 1, 1}}), sizes);
  ExpectRight(ConvOf("N, 16, D, H, W", "16, 16, 2, 3, 3", {.strides = {2, 1, 1}}), {{1, 2, 3, 3}, {2, 5, 4, 9}});
  ExpectRight(ConvOf("N, 6, D, H, W", "20, 6, 3, 3, 3", {.dilations = {3, 2, 2}, .low = {3, 2, 2}, .high = {3, 2, 2}}),
              sizes);
  ExpectRight(ConvOf("2, 16, 3, 8, 8", "16, 16, 1, 3, 3", {.low = {0, 1, 0}, .high = {2, 1, 0}}), {{}});
}

TEST(Winograd, LongRowsAreSplit) {
  ExpectRight(ConvOf("N, 16, H, W", "17, 16, 3, 3", kPadded), {{1, 3, 205}, {2, 1, 193}, {1, 33, 12}});
}

TEST(Winograd, ColumnsAreSplit) {
  ExpectRight(ConvOf("N, 16, H, W", "300, 16, 3, 3", kPadded), {{1, 4, 4}, {2, 3, 5}, {0, 3, 3}});
}

// More of them leave room for fewer tiles at a time.
TEST(Winograd, ManyChannels) {
  ExpectRight(ConvOf("N, 400, H, W", "16, 400, 3, 3", kPadded), {{1, 1, 41}, {1, 41, 1}});
}

TEST(Winograd, KnownDimSizes) {
  ExpectRight(ConvOf("2, 18, 9, 7", "48, 18, 3, 3", kPadded), {{}});
  ExpectRight(ConvOf("1, 16, 6, 8", "20, 16, 3, 3", {}), {{}});
}

// The product of windows of 3 x 3 elements of %p, as columns of the given dims, with constant weights.
std::string ProductOf(const std::string& weights, const std::string& columns, const std::string& attributes) {
  return absl::StrCat("  %w = constant @w : f32[", weights, R"(]
  %v = window %p {axes = [2, 3], sizes = [3, 3]}
  %t = transpose %v {permutation = [0, 1, 4, 5, 2, 3]}
  %r = reshape %t {shape = [)",
                      columns, "]}\n  %d = dot %r, %w {transpose_lhs = 1", attributes, "}\n");
}

TEST(Winograd, WeightsStoredByColumn) {
  const std::string matmul = ProductOf("144, 20", "N, 1, 144, max(0, H - 2)*max(0, W - 2)", "");
  ExpectRight(Parsed(absl::StrCat("graph @g(%p: f32[N, 16, H, W]) {\n", matmul, R"(
  %c = transpose %d {permutation = [0, 1, 3, 2]}
  %y = reshape %c {shape = [N, 20, max(0, H - 2), max(0, W - 2)]}
  return %y
})")),
              {{1, 7, 6}, {2, 5, 5}});
}

// What concats, slices, gathers, enlargements and broadcasts make of images channels last is channels last, too.
TEST(Winograd, ImagesMadeOfOthersChannelsLast) {
  const auto expect_right = [](int channels, const std::string& use, int kernels = 1) {
    SCOPED_TRACE(use);
    Graph graph = Parsed(absl::StrCat(R"(graph @g(%q: f32[N, H, W, 32], %r: f32[N, P, Q, 32]) {
  %w = constant @w : f32[16, )",
                                      channels, R"(, 3, 3]
  %places = constant @places : i64[5]
  %x = transpose %q {permutation = [0, 3, 1, 2]}
  %z = transpose %r {permutation = [0, 3, 1, 2]}
)",
                                      use, "  return\n}"));
    const Value image{static_cast<NodeId>(graph.nodes().size()) - 1, 0};
    const auto y = Conv(graph, image, {2, 0}, {}, kPadded, 1);
    ASSERT_TRUE(y.ok()) << y.status();
    ASSERT_TRUE(
        graph
            .AddOutput(
                "y", {*graph.Append(OpKind::kTranspose, {*y}, {{"permutation", std::vector<int64_t>{0, 2, 3, 1}}}), 0})
            .ok());
    const auto lowered = lower::LowerGraph(graph, CpuLevels().back().traits);
    ASSERT_TRUE(lowered.ok()) << lowered.status();
    EXPECT_TRUE(std::get<ContractionForm>(lowered->kernels.back().form).channels_last);
    ExpectRight(graph, {{3, 5, 6, 1, 6}, {3, 3, 4, 3, 1}}, kernels);
  };
  expect_right(96, "  %n = neg %x\n  %y = concat %x, %n, %x {axis = 1}\n");
  expect_right(16, "  %y = slice %x {starts = [0, 16, 1, 0], sizes = [N, 16, max(0, H - 1), W]}\n");
  expect_right(16, "  %y = slice %x {starts = [0, 0, 0, 1], sizes = [N, 16, H, 2], steps = [1, 2, 1, 1]}\n");
  for (int axis : {0, 2, 3}) expect_right(32, absl::StrCat("  %y = gather %x, %places {axis = ", axis, "}\n"));
  expect_right(32, R"(  %a = reshape %x {shape = [N, 32, H, 1, W, 1]}
  %b = broadcast %a {shape = [N, 32, H, 2, W, 3]}
  %y = reshape %b {shape = [N, 32, 2*H, 3*W]}
)");
  expect_right(32, "  %y = sub %x, %z\n", 2);  // which may broadcast, or not
}

// The rows of one constant are [16, 3, 3] for one image and [3, 3, 16] for the other: it is packed for each.
TEST(Winograd, FramesChannelsLastBesideAnImageChannelsFirst) {
  const std::string matmul = ProductOf("144, 20", "N, 1, 144, max(0, H - 2)*max(0, W - 2)", "");
  ExpectRight(Parsed(absl::StrCat("graph @g(%p: f32[N, 16, H, W], %q: f32[N, D, H, W, 16]) {\n", matmul, R"(
  %windows = window %q {axes = [2, 3], sizes = [3, 3]}
  %moved = transpose %windows {permutation = [0, 1, 2, 3, 5, 6, 4]}
  %rows = reshape %moved {shape = [N, D, max(0, H - 2)*max(0, W - 2), 144]}
  %y = dot %rows, %w
  return %d, %y
})")),
              {{1, 7, 6, 2}, {2, 5, 5, 3}, {1, 3, 3, 1}, {1, 4, 6, 0}}, 2);
}

TEST(Winograd, InALoop) {
  const std::string matmul = ProductOf("144, 16", "N, 1, 144, H*W", "");
  ExpectRight(Parsed(absl::StrCat(R"(graph @g(%x: f32[N, 16, H, W]) {
  %first = constant 0 : i64[]
  %n, %y = while(%first, %x) {
    region(%i: i64[], %a: f32[N, 16, H, W]) {
      %three = constant 3 : i64[]
      %go = lt %i, %three
      return %go
    }
    region(%i: i64[], %a: f32[N, 16, H, W]) {
      %one = constant 1 : i64[]
      %next = add %i, %one
      %zero = constant 0 : f32[]
      %p = pad %a, %zero {low = [0, 0, 1, 1], high = [0, 0, 1, 1]}
)",
                                  matmul, R"(
      %c = transpose %d {permutation = [0, 1, 3, 2]}
      %s = reshape %c {shape = [N, 16, H, W]}
      %most = constant 3 : f32[]
      %b = min %s, %most
      %e = max %b, %zero
      return %next, %e
    }
  }
  return %y
})")),
              {{1, 5, 6}, {2, 2, 3}, {1, 0, 4}});
}

TEST(Winograd, WhatComesBeforeAndAfterIsFused) {
  Graph graph = Parsed(R"(graph @g(%x: f32[N, 18, H, W], %more: f32[N, 24, H, W]) {
  %w = constant @w : f32[24, 18, 3, 3]
  %b = constant @b : f32[24]
  %zero = constant 0 : f32[]
  %positive = max %x, %zero
  return
})");
  const auto sums = Conv(graph, {5, 0}, {2, 0}, {3, 0}, kPadded, 1);
  ASSERT_TRUE(sums.ok()) << sums.status();
  const Value added{*graph.Append(OpKind::kAdd, {*sums, {1, 0}}), 0};
  const Value y{*graph.Append(OpKind::kMax, {added, {4, 0}}), 0};
  ASSERT_TRUE(graph.AddOutput("y", y).ok());
  ASSERT_TRUE(graph.AddOutput("added", added).ok());
  ExpectRight(graph, {{2, 5, 6}, {1, 7, 7}, {1, 1, 201}, {0, 2, 2}});
}

TEST(Winograd, ResultsWithTheirChannelsLast) {
  const auto build = [](Graph& graph, Value x, Value weights) -> absl::StatusOr<Value> {
    const auto y = Conv(graph, x, weights, {}, kPadded, 1);
    if (!y.ok()) return y;
    return Value{*graph.Append(OpKind::kTranspose, {*y}, {{"permutation", std::vector<int64_t>{0, 2, 3, 1}}}), 0};
  };
  ExpectRight(Made("N, 16, H, W", "40, 16, 3, 3", build), {{1, 5, 6}, {2, 3, 3}, {1, 2, 203}});
}

// The image is read again once its windows are multiplied.
TEST(Winograd, TheImageIsAddedToItsResults) {
  for (bool padded : {true, false}) {
    const auto build = [padded](Graph& graph, Value x, Value weights) -> absl::StatusOr<Value> {
      const auto y = Conv(graph, x, weights, {}, padded ? kPadded : Windows{}, 1);
      if (!y.ok()) return y;
      const Shape shape = graph.type(*y).shape;
      const Value inside =
          padded ? x : Value{*graph.Append(OpKind::kSlice, {x}, {{"starts", Shape{0, 0, 1, 1}}, {"sizes", shape}}), 0};
      return Value{*graph.Append(OpKind::kAdd, {*y, inside}), 0};
    };
    ExpectRight(Made("N, 16, H, W", "16, 16, 3, 3", build), {{1, 5, 6}, {2, 4, 3}});
  }
}

TEST(Winograd, WeightsWithOtherUses) {
  const auto build = [](Graph& graph, Value x, Value weights) -> absl::StatusOr<Value> {
    EXPECT_TRUE(graph.AddOutput("w", weights).ok());
    const auto y = Conv(graph, x, weights, {}, kPadded, 1);
    const auto z = Conv(graph, x, weights, {}, {.strides = {2, 2}}, 1);
    EXPECT_TRUE(graph.AddOutput("z", *z).ok());
    Value total{*graph.Append(OpKind::kReduceSum, {weights}, {{"axes", std::vector<int64_t>{0, 1, 2, 3}}}), 0};
    return Value{*graph.Append(OpKind::kAdd, {*y, total}), 0};
  };
  ExpectRight(Made("N, 16, H, W", "20, 16, 3, 3", build), {{1, 6, 6}, {2, 3, 5}});
}

TEST(Winograd, OneAfterTheOtherAndTwoOfOneImage) {
  Graph graph = Parsed(R"(graph @g(%x: f32[N, 16, H, W]) {
  %u = constant @u : f32[20, 16, 3, 3]
  %v = constant @v : f32[16, 20, 3, 3]
  %w = constant @w : f32[18, 16, 3, 3]
  return
})");
  const auto first = Conv(graph, {0, 0}, {1, 0}, {}, kPadded, 1);
  const auto second = Conv(graph, *first, {2, 0}, {}, kPadded, 1);
  const auto beside = Conv(graph, {0, 0}, {3, 0}, {}, kPadded, 1);
  ASSERT_TRUE(graph.AddOutput("second", *second).ok());
  ASSERT_TRUE(graph.AddOutput("beside", *beside).ok());
  ExpectRight(graph, {{1, 6, 5}, {2, 3, 3}}, 3);
}

// An output may take the memory of the image where nothing reads that any more.
TEST(Winograd, DonatedImages) {
  const auto build = [](Graph& graph, Value x, Value weights) -> absl::StatusOr<Value> {
    const auto y = Conv(graph, x, weights, {}, kPadded, 1);
    if (!y.ok()) return y;
    return Value{*graph.Append(OpKind::kAdd, {*y, x}), 0};
  };
  const Graph graph = Made("N, 16, H, W", "16, 16, 3, 3", build);
  EXPECT_EQ(ByWinograd(graph), 1);
  auto program = DonatingCpuDevice()->Compile(graph);
  ASSERT_TRUE(program.ok()) << program.status();
  const std::vector<int64_t> at = {1, 4, 203};
  const std::vector<Array> inputs = InputsOf(graph, at);
  const auto want = reference::Evaluate(graph, at, inputs);
  ASSERT_TRUE(want.ok()) << want.status();
  std::vector<HostTensor> outputs = ToHost(want->outputs);
  for (HostTensor& tensor : outputs) std::fill(tensor.bytes.begin(), tensor.bytes.end(), std::byte{0x5a});
  ASSERT_EQ((*program)->RunInto(ToHost(inputs), 2, &outputs), absl::OkStatus());
  ExpectEqual(outputs, want->outputs);
}

// ---- Numbers that are not whole ----

// The root mean square of what `program` makes of `inputs`, less `want`.
long double ErrorOf(TestProgram& program, const std::vector<Array>& inputs, const Array& want) {
  const auto got = program.Run(ToHost(inputs), 1);
  EXPECT_TRUE(got.ok()) << got.status();
  const Array values = reference::FromBytes(DType::kF32, (*got)[0].dims, (*got)[0].bytes.data());
  long double squares = 0;
  for (size_t i = 0; i < values.elements.size(); ++i) {
    const long double error = values.elements[i].value - want.elements[i].value;
    squares += error * error;
  }
  return std::sqrt(squares / static_cast<long double>(values.elements.size()));
}

TEST(Winograd, RoundsAboutAsMuchAsMatmulsOfWindowsDo) {
  const Graph graph = ConvOf("N, 32, H, W", "32, 32, 3, 3", kPadded);
  Graph direct = Parsed("graph @g(%x: f32[N, 32, H, W], %w: f32[32, 32, 3, 3]) { return }");
  const auto y = Conv(direct, {0, 0}, {1, 0}, {}, kPadded, 1);
  ASSERT_TRUE(direct.AddOutput("y", *y).ok());
  EXPECT_EQ(ByWinograd(graph), 1);
  EXPECT_EQ(ByWinograd(direct), 0);
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  Array x = WholeNumbers(DType::kF32, {1, 32, 9, 8}, 0, 0);
  for (reference::Element& element : x.elements) element.value = normal(random);
  const Array w = WholeNumbers(DType::kF32, {32, 32, 3, 3}, 2, 'w');
  const auto want = reference::Evaluate(graph, {1, 9, 8}, {x});
  ASSERT_TRUE(want.ok()) << want.status();
  for (const auto& device : Levels()) {
    auto fast = device->Compile(graph), plain = device->Compile(direct);
    ASSERT_TRUE(fast.ok() && plain.ok()) << fast.status() << plain.status();
    const long double error = ErrorOf(**fast, {x}, want->outputs[0]);
    const long double least = ErrorOf(**plain, {x, w}, want->outputs[0]);
    EXPECT_GT(least, 0) << device->name();
    EXPECT_LT(error, 2 * least) << device->name();
  }
}

// What is no finite number reaches the results whose windows have it, and no others.
TEST(Winograd, NaNsAndInfinitiesStayInTheirWindows) {
  const Graph graph = ConvOf("N, 16, H, W", "20, 16, 3, 3", kPadded);
  EXPECT_EQ(ByWinograd(graph), 1);
  constexpr int64_t kHeight = 5, kWidth = 7;
  for (const auto& device : Levels()) {
    auto program = device->Compile(graph);
    ASSERT_TRUE(program.ok()) << program.status();
    for (const long double special : {NAN, INFINITY, -INFINITY}) {
      for (const auto& [y, x] : {std::pair<int64_t, int64_t>{0, 0}, {2, 3}, {3, 2}, {4, 6}, {1, 5}}) {
        Array image = WholeNumbers(DType::kF32, {2, 16, kHeight, kWidth}, 3, 5);
        image.elements[((1 * 16 + 9) * kHeight + y) * kWidth + x].value = special;
        const auto got = (*program)->Run(ToHost({image}), 1);
        ASSERT_TRUE(got.ok()) << got.status();
        const Array values = reference::FromBytes(DType::kF32, (*got)[0].dims, (*got)[0].bytes.data());
        for (size_t i = 0; i < values.elements.size(); ++i) {
          const int64_t at = static_cast<int64_t>(i), row = at / kWidth % kHeight, column = at % kWidth;
          const bool within = at >= 20 * kHeight * kWidth && std::abs(row - y) <= 1 && std::abs(column - x) <= 1;
          ASSERT_EQ(std::isfinite(values.elements[i].value), !within)
              << special << " at " << y << ", " << x << ": " << i;
        }
      }
    }
  }
}

// ---- What looks like it ----

void ExpectNone(const std::string& p, const std::string& weights, const std::string& columns) {
  const std::string matmul = ProductOf(weights, columns, ", transpose_rhs = 1");
  ExpectRight(Parsed(absl::StrCat("graph @g(", p, matmul, "  return %d\n}")), {{}}, 0);
}

TEST(Winograd, AMatmulOfTheWindowsOfTwoImagesIsNone) {
  ExpectNone(R"(%x: f32[2, 15, 6, 6]) {
  %zero = constant 0 : f32[]
  %p = pad %x, %zero {low = [0, 1, 1, 1], high = [0, 0, 1, 1]}
)",
             "20, 288", "1, 1, 288, 36");
}

TEST(Winograd, MatmulsOfPartsOfTheChannelsAreNone) {
  ExpectNone("%p: f32[2, 32, 8, 8]) {\n", "20, 144", "4, 1, 144, 36");
  ExpectNone("%p: f32[2, 16, 8, 8]) {\n", "20, 72", "2, 1, 72, 72");
}

TEST(Winograd, MatmulsAlongRowsOrPartsOfWindowsAreNone) {
  ExpectNone("%p: f32[2, 16, 8, 8]) {\n", "20, 864", "2, 1, 864, 6");
  ExpectNone("%p: f32[2, 18, 8, 8]) {\n", "20, 54", "2, 1, 54, 108");
}

TEST(Winograd, GroupsThatAreDimsOfTheMatmulAreNone) {
  ExpectNone("%p: f32[2, 32, 8, 8]) {\n", "2, 20, 144", "2, 2, 144, 36");
  ExpectNone("%p: f32[2, 16, 8, 8]) {\n", "16, 20, 9", "2, 16, 9, 36");
}

TEST(Winograd, ImagesWithWeightsOfTheirOwnAreNone) {
  ExpectNone("%p: f32[2, 16, 8, 8]) {\n", "2, 1, 20, 144", "2, 1, 144, 36");
}

TEST(Winograd, SeveralWeightsForEachImageAreNone) {
  ExpectNone("%p: f32[2, 16, 8, 8]) {\n", "3, 20, 144", "2, 1, 144, 36");
  ExpectNone("%p: f32[2, 16, 8, 8]) {\n", "2, 1, 1, 20, 144", "2, 1, 144, 36");
}

}  // namespace
}  // namespace tailor
