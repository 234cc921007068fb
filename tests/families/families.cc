#include "tests/families/families.h"

#include <cstdlib>
#include <iostream>
#include <memory>

#include "absl/strings/str_cat.h"
#include "graph/builders.h"
#include "graph/compaction.h"
#include "graph/convolution.h"
#include "graph/formula.h"
#include "graph/sorting.h"

namespace tailor {
namespace {

// Appends and cannot fail: a family that is refused is a mistake in this file.
class Maker {
 public:
  explicit Maker(const char* name) : graph(name) {}

  template <typename T>
  static T Must(absl::StatusOr<T> made) {
    if (made.ok()) return *std::move(made);
    std::cerr << made.status() << "\n";
    std::abort();
  }

  DimExpr Symbol(const std::string& name, int64_t min = 1, int64_t max = 4096, int64_t multiple_of = 1) {
    return DimExpr::Symbol(Must(graph.AddSymbol({name, min, max, multiple_of, {}})));
  }
  Value Input(const std::string& name, Shape shape, DType dtype = DType::kF32) {
    return Must(graph.AddInput(name, dtype, std::move(shape)));
  }
  // [B, 8, H, W], H and W at least `smallest`.
  Value Image(int64_t smallest) {
    const DimExpr batch = Symbol("B"), height = Symbol("H", smallest), width = Symbol("W", smallest);
    return Input("x", {batch, 8, height, width});
  }
  Value Apply(OpKind op, std::vector<Value> operands, Attributes attributes = {}) {
    return {Must(graph.Append(op, operands, std::move(attributes))), 0};
  }
  // Zeros.
  Value Weights(std::vector<int64_t> dims) {
    Shape shape;
    uint64_t bytes = sizeof(float);
    for (int64_t dim : dims) {
      shape.push_back(dim);
      bytes *= static_cast<uint64_t>(dim);
    }
    const std::shared_ptr<void> zeros(std::calloc(bytes, 1), std::free);
    const void* data = zeros.get();
    return Must(graph.AddConstant(absl::StrCat("w", constants_++), DType::kF32, shape, {zeros, data, bytes, {}}));
  }
  Value Scalar(double value, DType dtype = DType::kF32) { return Must(ScalarConstant(graph, dtype, value)); }
  const Shape& ShapeOf(Value v) const { return graph.type(v).shape; }

  Value Reshape(Value x, Shape shape) { return Apply(OpKind::kReshape, {x}, {{"shape", std::move(shape)}}); }
  Value Transpose(Value x, std::vector<int64_t> permutation) {
    return Apply(OpKind::kTranspose, {x}, {{"permutation", std::move(permutation)}});
  }
  Value Concat(std::vector<Value> values, int64_t axis) { return Apply(OpKind::kConcat, values, {{"axis", axis}}); }
  Value Slice(Value x, Shape starts, Shape sizes) {
    return Apply(OpKind::kSlice, {x}, {{"starts", std::move(starts)}, {"sizes", std::move(sizes)}});
  }
  Value Relu(Value x) { return Apply(OpKind::kMax, {x, Scalar(0)}); }
  // side x side, as many channels as x has or `channels`; padded so that one stride keeps the dim sizes.
  Value Convolution(Value x, int64_t channels, int64_t side, int64_t stride) {
    const Shape pad(2, DimExpr(side / 2));
    const Value w = Weights({channels, *ShapeOf(x)[1].constant(), side, side});
    return Relu(Must(Conv(graph, x, w, Value{}, {{stride, stride}, {}, pad, pad}, 1)));
  }
  // Each pixel `factor` times in both directions.
  Value Upsampled(Value x, int64_t factor) {
    const Shape s = ShapeOf(x);
    const Value apart = Reshape(x, {s[0], s[1], s[2], 1, s[3], 1});
    const Value spread = Apply(OpKind::kBroadcast, {apart}, {{"shape", Shape{s[0], s[1], s[2], factor, s[3], factor}}});
    return Reshape(spread, {s[0], s[1], s[2] * factor, s[3] * factor});
  }
  Graph Finish(std::vector<Value> outputs) {
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!graph.AddOutput(absl::StrCat("y", i), outputs[i]).ok()) std::abort();
    }
    return std::move(graph);
  }

  Graph graph;

 private:
  int constants_ = 0;
};

// n elementwise ops in a row.
Graph Chain(int n) {
  Maker m("chain");
  const DimExpr batch = m.Symbol("B"), steps = m.Symbol("S");
  Value y = m.Input("x", {batch, steps, 64});
  const Value bias = m.Weights({64});
  for (int i = 0; i < n; ++i) {
    y = i % 3 == 0 ? m.Apply(OpKind::kAdd, {y, bias}) : m.Apply(i % 3 == 1 ? OpKind::kNeg : OpKind::kSqrt, {y});
  }
  return m.Finish({y});
}

// n transformer blocks without products: norms and what lies between them.
Graph Norms(int n) {
  Maker m("norms");
  const DimExpr batch = m.Symbol("B"), steps = m.Symbol("S");
  Value y = m.Input("x", {batch, steps, 64});
  const Value scale = m.Weights({64}), bias = m.Weights({64});
  for (int i = 0; i < n; ++i) {
    const Value normed = Maker::Must(LayerNorm(m.graph, y, scale, bias, 1e-5));
    y = m.Apply(OpKind::kAdd, {y, Maker::Must(GeluTanh(m.graph, normed))});
  }
  return m.Finish({y});
}

// PyTorch's pools with ceil_mode: the last window starts inside.
Graph CeilPools(int n) {
  Maker m("ceil_pools");
  Value y = m.Image(256);
  for (int i = 0; i < n; ++i) {
    Shape high;
    for (int d : {2, 3}) {
      const DimExpr size = m.ShapeOf(y)[d];
      const DimExpr all = DimExpr::CeilDiv(size - 3, 2) + 1, inside = DimExpr::CeilDiv(size, 2);
      high.push_back(DimExpr::Max((DimExpr::Min(all, inside) - 1) * 2 + 3 - size, 0));
    }
    y = Maker::Must(MaxPool(m.graph, y, {3, 3}, {{2, 2}, {}, {0, 0}, high}));
  }
  return m.Finish({y});
}

// A feature pyramid of n levels: what is enlarged is added to the level below, whose dim sizes it has but for rounding.
Graph Pyramid(int n) {
  Maker m("pyramid");
  std::vector<Value> levels = {m.Image(64)};
  for (int i = 0; i < n; ++i) levels.push_back(m.Convolution(levels.back(), 8, 3, 2));
  Value top = levels.back();
  std::vector<Value> outputs = {top};
  for (int i = n - 1; i >= 0; --i) {
    top = m.Apply(OpKind::kAdd, {m.Upsampled(top, 2), levels[i]});
    outputs.push_back(m.Convolution(top, 8, 3, 1));
  }
  return m.Finish(outputs);
}

// A U-Net of n levels: halved, doubled again, and joined along the channels, where dim sizes must be equal.
Graph UNet(int n) {
  Maker m("unet");
  std::vector<Value> levels = {m.Image(64)};
  for (int i = 0; i < n; ++i) {
    levels.push_back(
        Maker::Must(MaxPool(m.graph, m.Convolution(levels.back(), 8, 3, 1), {2, 2}, {{2, 2}, {}, {}, {}})));
  }
  Value top = levels.back();
  for (int i = n - 1; i >= 0; --i) top = m.Convolution(m.Concat({m.Upsampled(top, 2), levels[i]}, 1), 8, 3, 1);
  return m.Finish({top});
}

// n units of ShuffleNet: halves, one of which is convolved, joined and shuffled.
Graph Shuffles(int n) {
  Maker m("shuffles");
  Value y = m.Image(32);
  for (int i = 0; i < n; ++i) {
    if (i % 4 == 3) y = m.Convolution(y, 8, 3, 2);
    const Shape s = m.ShapeOf(y);
    const Value left = m.Slice(y, {0, 0, 0, 0}, {s[0], 4, s[2], s[3]});
    const Value right = m.Slice(y, {0, 4, 0, 0}, {s[0], 4, s[2], s[3]});
    const Value joined = m.Concat({left, m.Convolution(right, 4, 3, 1)}, 1);
    y = m.Reshape(m.Transpose(m.Reshape(joined, {s[0], 2, 4, s[2], s[3]}), {0, 2, 1, 3, 4}), {s[0], 8, s[2], s[3]});
  }
  return m.Finish({y});
}

// n blocks of a Swin transformer: padded to whole windows, shifted, attended window by window, put together and cut;
// the image is halved after every second one.
Graph ShiftedWindows(int n) {
  constexpr int64_t kSide = 7, kShift = 3, kChannels = 16;
  Maker m("shifted_windows");
  const DimExpr batch = m.Symbol("B"), height = m.Symbol("H", 64), width = m.Symbol("W", 64);
  Value y = m.Input("x", {batch, height, width, kChannels});
  const auto rolled = [&](Value x, int64_t axis, const DimExpr& by) {
    Shape sizes = m.ShapeOf(x), starts(4, DimExpr(0));
    Shape first_sizes = sizes, rest_sizes = sizes, rest_starts = starts;
    first_sizes[axis] = by;
    rest_sizes[axis] = sizes[axis] - by;
    rest_starts[axis] = by;
    return m.Concat({m.Slice(x, rest_starts, rest_sizes), m.Slice(x, starts, first_sizes)}, axis);
  };
  for (int i = 0; i < n; ++i) {
    const Shape s = m.ShapeOf(y);
    const Shape high = {0, DimExpr::Mod(-1 * s[1], kSide), DimExpr::Mod(-1 * s[2], kSide), 0};
    Value x = m.Apply(OpKind::kPad, {y, m.Scalar(0)}, {{"low", Shape(4, DimExpr(0))}, {"high", high}});
    const Shape padded = m.ShapeOf(x);
    if (i % 2 == 1) x = rolled(rolled(x, 1, kShift), 2, kShift);
    const DimExpr rows = DimExpr::FloorDiv(padded[1], kSide), columns = DimExpr::FloorDiv(padded[2], kSide);
    x = m.Transpose(m.Reshape(x, {s[0], rows, kSide, columns, kSide, kChannels}), {0, 1, 3, 2, 4, 5});
    x = m.Reshape(x, {s[0] * rows * columns, kSide * kSide, kChannels});
    x = Maker::Must(Attention(m.graph, x, x, x, Value{}, 0));
    x = m.Transpose(m.Reshape(x, {s[0], rows, columns, kSide, kSide, kChannels}), {0, 1, 3, 2, 4, 5});
    x = m.Reshape(x, {s[0], padded[1], padded[2], kChannels});
    if (i % 2 == 1) x = rolled(rolled(x, 1, padded[1] - kShift), 2, padded[2] - kShift);
    y = m.Apply(OpKind::kAdd, {y, m.Slice(x, Shape(4, DimExpr(0)), s)});
    if (i % 4 == 3) {
      y = m.Transpose(m.Convolution(m.Transpose(y, {0, 3, 1, 2}), kChannels, 3, 2), {0, 2, 3, 1});
    }
  }
  return m.Finish({y});
}

// n attentions with relative positions: a table is read at differences of positions, clamped.
Graph RelativePositions(int n) {
  constexpr int64_t kChannels = 16, kFar = 32;
  Maker m("relative_positions");
  const DimExpr batch = m.Symbol("B"), steps = m.Symbol("S");
  Value y = m.Input("x", {batch, steps, kChannels});
  const Value table = m.Weights({2 * kFar + 1, kChannels});
  for (int i = 0; i < n; ++i) {
    const auto iota = [&](int64_t axis) {
      return m.Apply(OpKind::kIota, {}, {{"shape", Shape{steps, steps}}, {"axis", axis}, {"dtype", DType::kI64}});
    };
    const auto whole = [&](int64_t value) { return m.Scalar(static_cast<double>(value), DType::kI64); };
    Value index = m.Apply(OpKind::kSub, {iota(0), iota(1)});
    index = m.Apply(OpKind::kMax, {m.Apply(OpKind::kMin, {index, whole(kFar)}), whole(-kFar)});
    index = m.Apply(OpKind::kAdd, {index, whole(kFar)});
    const Value scores = m.Apply(OpKind::kDot, {y, table}, {{"transpose_rhs", int64_t{1}}});
    const Value last = m.Slice(scores, {0, 0, 0}, {1, 1, 2 * kFar + 1});
    const Value bias = m.Apply(OpKind::kGather, {m.Reshape(last, {2 * kFar + 1}), index}, {{"axis", int64_t{0}}});
    y = m.Apply(OpKind::kAdd, {y, Maker::Must(Attention(m.graph, y, y, y, bias, 0))});
  }
  return m.Finish({y});
}

// n heads of a detector: what is kept of each, joined.
Graph DataBranches(int n) {
  Maker m("data_branches");
  const DimExpr rows = m.Symbol("N");
  const Value x = m.Input("x", {rows, 4});
  std::vector<Value> kept;
  for (int i = 0; i < n; ++i) {
    const Value scores = m.Input(absl::StrCat("scores", i), {rows});
    kept.push_back(Maker::Must(Compact(m.graph, x, m.Apply(OpKind::kGt, {scores, m.Scalar(0.5)}))));
  }
  return m.Finish({m.Concat(kept, 0)});
}

// n selections in a row, each of what the one before has left.
Graph DataRows(int n) {
  Maker m("data_rows");
  const DimExpr rows = m.Symbol("N");
  Value y = m.Input("x", {rows});
  for (int i = 0; i < n; ++i) {
    const Value kept = Maker::Must(Compact(m.graph, y, m.Apply(OpKind::kGt, {y, m.Scalar(i)})));
    y = m.Apply(OpKind::kMul, {kept, m.Scalar(2)});
  }
  return m.Finish({y});
}

// n reshapes to a dim size that is computed as the run goes.
Graph DataReshapes(int n) {
  Maker m("data_reshapes");
  const DimExpr rows = m.Symbol("N");
  Value y = m.Input("x", {rows, 6});
  Value count = m.Input("count", {}, DType::kI64);
  for (int i = 0; i < n; ++i) {
    const DimExpr dim_size = m.Symbol(absl::StrCat("D", i), 0);
    count = m.Apply(OpKind::kBind, {count}, {{"extent", Shape{dim_size}}});
    y = m.Apply(OpKind::kExp, {m.Reshape(y, {dim_size, 6})});
    count = m.Apply(OpKind::kMax, {count, m.Scalar(1, DType::kI64)});
  }
  return m.Finish({y});
}

}  // namespace

const std::vector<Family>& Families() {
  static const auto* families = new std::vector<Family>{
      {"chain", Chain, 100},
      {"norms", Norms, 48},
      {"ceil_pools", CeilPools, 8},
      {"pyramid", Pyramid, 2},
      {"unet", UNet, 2},
      {"shuffles", Shuffles, 4},
      {"shifted_windows", ShiftedWindows, 4},
      {"relative_positions", RelativePositions, 4},
      {"data_branches", DataBranches, 4},
      {"data_rows", DataRows, 8},
      {"data_reshapes", DataReshapes, 64},
  };
  return *families;
}

}  // namespace tailor
