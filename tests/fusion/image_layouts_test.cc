// Where images are kept channels last (fusion/image_layouts.h).
#include "fusion/image_layouts.h"

#include <gtest/gtest.h>

#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "fusion/channels_last.h"
#include "fusion/remove_dead_nodes.h"
#include "fusion/simplify_views.h"
#include "graph/convolution.h"
#include "graph/formula.h"
#include "graph/status_macros.h"
#include "graph/text.h"
#include "graph/verifier.h"

namespace tailor {
namespace {

// Images of [B, channels, H, W], built as front ends do.
class Images {
 public:
  // One input, of `channels`.
  explicit Images(int64_t channels) : Images(absl::StrCat("f32[B, ", channels, ", H, W]")) {}
  explicit Images(const std::string& type)
      : graph_(*ParseGraph(absl::StrCat("graph @g(%x: ", type, ") { return }"))), f_(&graph_) {}

  Graph& graph() { return graph_; }
  Value input() const { return {graph_.inputs()[0], 0}; }
  Value Constant(const std::string& name, const Shape& shape) {
    const auto memory = std::make_shared<std::vector<float>>(*ElementCount(shape).constant(), 1.0f);
    return *graph_.AddConstant(name, DType::kF32, shape, {memory, memory->data(), memory->size() * sizeof(float), {}});
  }
  // A convolution of `size` x `size` windows that keeps the sides, or halves them.
  Value Convolved(Value x, int64_t channels, int64_t size, int64_t stride = 1, int64_t groups = 1) {
    const int64_t inputs = *graph_.type(x).shape[1].constant();
    const std::string name = absl::StrCat("w", ++weights_);
    const Shape pad(2, size / 2);
    const Windows windows = {.strides = {stride, stride}, .dilations = {}, .low = pad, .high = pad};
    return *Conv(graph_, x, Constant(name, {channels, inputs / groups, size, size}), Constant(name + "b", {channels}),
                 windows, groups);
  }
  Value Relu(Value x) { return f_.Apply(OpKind::kMax, {x, f_.Scalar(x, 0)}); }
  Value Apply(OpKind op, std::initializer_list<Value> operands, std::initializer_list<NamedAttribute> attributes = {}) {
    return f_.Apply(op, operands, attributes);
  }
  Value Mean(Value x) { return Apply(OpKind::kReduceMean, {x}, {{"axes", std::vector<int64_t>{2, 3}}}); }
  void Output(const std::string& name, Value x) { EXPECT_TRUE(graph_.AddOutput(name, x).ok()); }
  // After the rewrite: the axes of each window, and the permutations that remain.
  std::string Kept() {
    const auto facts = ShapeFacts::Collect(graph_);
    EXPECT_TRUE(facts.ok());
    const auto clean = [](const Graph& graph, const ShapeFacts& facts) -> absl::StatusOr<Graph> {
      TAILOR_ASSIGN_OR_RETURN(Graph kept, KeepImagesChannelsLast(graph, facts));
      TAILOR_ASSIGN_OR_RETURN(Graph composed, ComposeViews(kept, facts));
      TAILOR_ASSIGN_OR_RETURN(Graph simple, RemoveIdentityViews(composed, facts));
      TAILOR_ASSIGN_OR_RETURN(Graph live, RemoveDeadNodes(simple, facts));
      TAILOR_RETURN_IF_ERROR(VerifyGraph(live));
      return live;
    };
    const auto kept = clean(graph_, *facts);
    EXPECT_TRUE(kept.ok()) << kept.status();
    std::vector<std::string> parts;
    for (const Node& node : kept->nodes()) {
      const char* list = node.op == OpKind::kWindow ? "axes" : node.op == OpKind::kTranspose ? "permutation" : nullptr;
      if (list != nullptr) parts.push_back(absl::StrCat(InfoOf(node.op).text, " ", absl::StrJoin(node.i64s(list), "")));
    }
    return absl::StrJoin(parts, ", ");
  }

 private:
  Graph graph_;
  Formula f_;
  int weights_ = 0;
};

const char* const kPatches = "transpose 012453";  // windows of an image that is channels last, as rows of a matmul

TEST(ImageLayouts, AnInvertedResidualIsChannelsLast) {
  Images g(32);
  const Value wide = g.Relu(g.Convolved(g.input(), 96, 1));
  const Value narrow = g.Convolved(g.Relu(g.Convolved(wide, 96, 3, 1, 96)), 32, 1);
  const Value sum = g.Apply(OpKind::kAdd, {narrow, g.Convolved(g.input(), 32, 1)});
  g.Output("y", g.Mean(sum));
  // One transposition is of the constant factors, which are adjacent by channel.
  EXPECT_EQ(g.Kept(), "window 12, transpose 201");
}

TEST(ImageLayouts, StridedWindowsAndPoolsFollow) {
  Images g(3);
  const Value first = g.Relu(g.Convolved(g.input(), 64, 7, 2));
  const Value pooled =
      *MaxPool(g.graph(), first, {3, 3}, {.strides = {2, 2}, .dilations = {}, .low = {1, 1}, .high = {1, 1}});
  g.Output("y", g.Mean(g.Convolved(pooled, 128, 3, 2)));
  // The first convolution reads the input, which is channels first.
  EXPECT_EQ(g.Kept(), absl::StrCat("window 23, transpose 014523, window 12, window 12, ", kPatches));
}

// Convolutions by Winograd's algorithm read and write either layout, as other matmuls do.
TEST(ImageLayouts, WinogradsImagesFollow) {
  Images g(64);
  const Value x = g.Relu(g.Convolved(g.input(), 64, 1));
  const Value winograd = g.Relu(g.Convolved(x, 64, 3));
  const Value sum = g.Apply(OpKind::kAdd, {g.Convolved(winograd, 128, 1), g.Convolved(winograd, 128, 3)});
  g.Output("y", g.Mean(g.Convolved(g.Convolved(sum, 128, 3, 1, 128), 32, 1)));
  // The last transposition is of constant factors.
  EXPECT_EQ(g.Kept(), absl::StrCat("window 12, ", kPatches, ", window 12, ", kPatches, ", window 12, transpose 201"));
}

// Concats by channel have the layout of their parts; those by rows, and of images with other layouts, are channels
// first.
TEST(ImageLayouts, ConcatsFollow) {
  const auto kept = [](int64_t axis, bool with_input) {
    Images g(64);
    const Value x = g.Relu(g.Convolved(g.input(), 64, 1)), y = g.Convolved(x, 64, 3);
    const Value joined = with_input ? g.Apply(OpKind::kConcat, {x, y, g.input()}, {{"axis", axis}})
                                    : g.Apply(OpKind::kConcat, {x, y, x}, {{"axis", axis}});
    g.Output("y", g.Mean(g.Convolved(joined, 64, 3)));
    return g.Kept();
  };
  EXPECT_EQ(kept(1, false), absl::StrCat("window 12, ", kPatches, ", window 12, ", kPatches));
  EXPECT_EQ(kept(1, true).find("window 12"), std::string::npos);
  EXPECT_EQ(kept(2, false).find("window 12"), std::string::npos);
}

// Of integers a step of K is a word of four bytes, which have to be neighbours.
TEST(ImageLayouts, WindowsOfPartsOfWordsStay) {
  for (const int64_t channels : {44, 46}) {
    Images g(absl::StrCat("u8[B, H, W, ", channels, "]"));
    const auto moved = [&](Value v, std::vector<int64_t> order) {
      return g.Apply(OpKind::kTranspose, {v}, {{"permutation", std::move(order)}});
    };
    const auto memory = std::make_shared<std::vector<int8_t>>(64 * channels * 9, 1);
    const Value weights =
        *g.graph().AddConstant("w", DType::kI8, {64, channels, 3, 3}, {memory, memory->data(), memory->size(), {}});
    const Value y = *Conv(g.graph(), moved(g.input(), {0, 3, 1, 2}), weights, {}, {}, 1);
    g.Output("y", moved(y, {0, 2, 3, 1}));
    EXPECT_EQ(g.Kept().find("window 12") != std::string::npos, channels == 44) << channels;
  }
}

// An image repeated along positions, as exporters enlarge it to its nearest neighbours.
Value Enlarged(Images& g, Value x) {
  const Shape from = g.graph().type(x).shape;
  const Value spread = g.Apply(OpKind::kReshape, {x}, {{"shape", Shape{from[0], from[1], from[2], 1, from[3], 1}}});
  const Value repeated =
      g.Apply(OpKind::kBroadcast, {spread}, {{"shape", Shape{from[0], from[1], from[2], 2, from[3], 3}}});
  return g.Apply(OpKind::kReshape, {repeated}, {{"shape", Shape{from[0], from[1], from[2] * 2, from[3] * 3}}});
}

// Sizes that need not be equal broadcast, as where exporters add an enlarged image.
TEST(ImageLayouts, SumsOfImagesThatMayBroadcastFollow) {
  Images g(64);
  const Value x = g.Relu(g.Convolved(g.input(), 64, 1));
  const Value half = g.Convolved(x, 64, 3, 2);
  g.Output("y", g.Mean(g.Convolved(g.Apply(OpKind::kAdd, {x, half}), 64, 3)));
  EXPECT_EQ(g.Kept(), absl::StrCat("window 12, ", kPatches, ", window 12, ", kPatches));
}

TEST(ImageLayouts, PartsAndRepetitionsFollow) {
  const auto kept = [](const std::function<Value(Images&, Value)>& use) {
    Images g(64);
    const Value x = g.Relu(g.Convolved(g.input(), 64, 1));
    g.Output("y", g.Mean(g.Convolved(use(g, x), 64, 3)));
    return g.Kept();
  };
  const auto gathered = [](int64_t axis) {
    return [axis](Images& g, Value x) {
      const auto rows = std::make_shared<std::vector<int64_t>>(64, 0);
      const Value indices = *g.graph().AddConstant("rows", DType::kI64, {64}, {rows, rows->data(), 64 * 8, {}});
      return g.Apply(OpKind::kGather, {x, indices}, {{"axis", axis}});
    };
  };
  const std::string last = absl::StrCat("window 12, ", kPatches);
  EXPECT_EQ(kept([](Images& g, Value x) {
              const Shape from = g.graph().type(x).shape;
              return g.Apply(OpKind::kSlice, {x},
                             {{"starts", Shape{0, 16, 0, 1}}, {"sizes", Shape{from[0], 48, from[2], from[3] - 1}}});
            }),
            last);
  EXPECT_EQ(kept(Enlarged), last);
  EXPECT_EQ(kept(gathered(0)), last);
  EXPECT_EQ(kept(gathered(2)), last);
  EXPECT_EQ(kept(gathered(3)), last);
  EXPECT_EQ(kept(gathered(1)).find("window 12"), std::string::npos);  // of channels
  EXPECT_EQ(kept([](Images& g, Value x) {
              g.Output("z", Enlarged(g, x));
              return x;
            }).find("window 12"),
            std::string::npos);
}

TEST(ImageLayouts, ReadersThatNeedChannelsFirstKeepThem) {
  const auto kept = [](const std::function<void(Images&, Value)>& read, int64_t channels = 64) {
    Images g(32);
    const Value image = g.Relu(g.Convolved(g.input(), channels, 1));
    g.Output("y", g.Mean(g.Convolved(image, channels, 5, 1, channels)));
    read(g, image);
    return g.Kept().find("window 12") != std::string::npos;
  };
  EXPECT_TRUE(kept([](Images&, Value) {}));
  EXPECT_TRUE(kept([](Images& g, Value x) { g.Output("z", g.Mean(x)); }));
  EXPECT_TRUE(kept([](Images& g, Value x) {
    g.Output("z", g.Apply(OpKind::kTranspose, {x}, {{"permutation", std::vector<int64_t>{0, 2, 3, 1}}}));
  }));
  EXPECT_TRUE(kept([](Images& g, Value x) {
    const std::vector<int64_t> positions = {2, 3};
    const Value gate = g.Apply(OpKind::kReduceMax, {x}, {{"axes", positions}, {"keep_dims", int64_t{1}}});
    g.Output("z", g.Mean(g.Apply(OpKind::kMul, {gate, x})));
  }));
  EXPECT_FALSE(kept([](Images& g, Value x) { g.Output("z", x); }));
  for (const bool constant_first : {false, true}) {
    EXPECT_FALSE(kept([&](Images& g, Value x) {
      const Value image = g.Constant("image", {1, 64, 7, 7});
      g.Output("z", constant_first ? g.Apply(OpKind::kAdd, {image, x}) : g.Apply(OpKind::kAdd, {x, image}));
    }));
  }
  EXPECT_FALSE(kept([](Images& g, Value x) {
    g.Output("z", g.Apply(OpKind::kReduceMax, {x}, {{"axes", std::vector<int64_t>{3}}}));
  }));
  EXPECT_FALSE(kept([](Images& g, Value x) { g.Output("z", g.Mean(g.Convolved(x, 64, 3, 1, 2))); }));  // groups
  EXPECT_FALSE(kept([](Images& g, Value x) { g.Output("z", g.Mean(g.Convolved(x, 64, 9, 1, 64))); }));
  EXPECT_TRUE(kept([](Images& g, Value x) { g.Output("z", g.Mean(g.Convolved(x, 16, 5))); }));
  EXPECT_FALSE(kept([](Images& g, Value x) { g.Output("z", g.Convolved(x, 3, 5)); }));  // few filters
  // Vectors that are a quarter empty, or more.
  EXPECT_FALSE(kept([](Images&, Value) {}, 24));
  EXPECT_FALSE(kept([](Images&, Value) {}, 12));
}

// Few terms: the matmul becomes elementwise nodes (fusion/narrow_matmuls.h), which would be part of their readers.
TEST(ImageLayouts, OuterProductsStay) {
  Images g(8);
  g.Output("y", g.Mean(g.Convolved(g.Relu(g.Convolved(g.input(), 32, 1)), 32, 5, 1, 32)));
  EXPECT_EQ(g.Kept().find("window 12"), std::string::npos);
}

}  // namespace
}  // namespace tailor
