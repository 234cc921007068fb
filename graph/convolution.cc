#include "graph/convolution.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "graph/finite_constant.h"
#include "graph/formula.h"
#include "graph/status_macros.h"

namespace tailor {
namespace {

bool AllEqual(const Shape& dims, int64_t value) {
  return std::all_of(dims.begin(), dims.end(), [&](const DimExpr& dim) { return dim == DimExpr(value); });
}

bool AllEqual(const std::vector<int64_t>& values, int64_t value) {
  return std::all_of(values.begin(), values.end(), [&](int64_t v) { return v == value; });
}

// The axis numbers first, first + 1, ..., `count` entries.
std::vector<int64_t> Axes(size_t first, size_t count) {
  std::vector<int64_t> axes(count);
  std::iota(axes.begin(), axes.end(), static_cast<int64_t>(first));
  return axes;
}

Shape Joined(Shape front, const Shape& back) {
  front.insert(front.end(), back.begin(), back.end());
  return front;
}

// Checks ranks and list lengths, whose errors the primitives below could not name.
absl::Status CheckWindows(const Graph& graph, absl::string_view builder, Value x, const Shape& sizes,
                          const Windows& windows) {
  TAILOR_RETURN_IF_ERROR(CheckValue(graph, builder, "x", x));
  const size_t spatial = sizes.size();
  if (graph.type(x).shape.size() != spatial + 2) {
    return absl::InvalidArgumentError(absl::StrCat(builder, ": operand \"x\" (", graph.NameOf(x), ") has type ",
                                                   graph.TypeText(graph.type(x)), ", but the windows have ", spatial,
                                                   " dims: its rank must be ", spatial + 2));
  }
  const std::pair<const char*, size_t> lists[] = {{"strides", windows.strides.size()},
                                                  {"dilations", windows.dilations.size()},
                                                  {"low", windows.low.size()},
                                                  {"high", windows.high.size()}};
  for (const auto& [name, count] : lists) {
    if (count == 0 || count == spatial) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(builder, ": ", name, " has ", count, " entries, but there are ", spatial, " spatial dims"));
  }
  return absl::OkStatus();
}

// x padded by `value` around its spatial dims, the last ones.
Value Padded(Formula& f, const Graph& graph, Value x, const Windows& windows, double value) {
  if (AllEqual(windows.low, 0) && AllEqual(windows.high, 0)) return x;
  const size_t rank = graph.type(x).shape.size(), spatial = std::max(windows.low.size(), windows.high.size());
  const Shape none(rank - spatial, 0), zeros(spatial, 0);
  return f.Apply(OpKind::kPad, {x, f.Scalar(x, value)},
                 {{"low", Joined(none, windows.low.empty() ? zeros : windows.low)},
                  {"high", Joined(none, windows.high.empty() ? zeros : windows.high)}});
}

// The windows of x over its last dims: [..., O..., K...].
Value WindowsOf(Formula& f, const Graph& graph, Value x, const Shape& sizes, const Windows& windows) {
  if (!f.ok()) return x;
  const size_t rank = graph.type(x).shape.size();
  return f.Apply(OpKind::kWindow, {x},
                 {{"axes", Axes(rank - sizes.size(), sizes.size())},
                  {"sizes", sizes},
                  {"strides", windows.strides},
                  {"dilations", windows.dilations}});
}

// Reduces the dims K... of windows.
Value ReduceWindows(Formula& f, const Graph& graph, OpKind op, Value windows, size_t spatial) {
  if (!f.ok()) return windows;
  return f.Apply(op, {windows}, {{"axes", Axes(graph.type(windows).shape.size() - spatial, spatial)}});
}

// One input and one output channel per group: a sum over each window instead of a matmul.
Value DepthwiseConv(Formula& f, const Graph& graph, Value windows, Value weights, Value bias) {
  if (!f.ok()) return windows;
  const Shape kernel = graph.type(weights).shape;
  const size_t spatial = kernel.size() - 2;
  const Shape ones(spatial, 1);
  Shape spread = Joined({kernel[0]}, ones);
  Value factors =
      f.Apply(OpKind::kReshape, {weights}, {{"shape", Joined(spread, Shape(kernel.begin() + 2, kernel.end()))}});
  if (SizeOf(graph.type(windows).dtype) < 4 && IsInteger(graph.type(windows).dtype)) {  // sums are i32, as a dot's
    windows = f.Apply(OpKind::kCast, {windows}, {{"dtype", DType::kI32}});
    factors = f.Apply(OpKind::kCast, {factors}, {{"dtype", DType::kI32}});
  }
  Value sum = ReduceWindows(f, graph, OpKind::kReduceSum, f.Apply(OpKind::kMul, {windows, factors}), spatial);
  if (bias.node < 0) return sum;
  return f.Apply(OpKind::kAdd, {sum, f.Apply(OpKind::kReshape, {bias}, {{"shape", spread}})});
}

// Windows [N, C, O..., K...], or [N, groups, C / groups, O..., K...], as the rhs of a matmul: [N, groups, C / groups *
// prod(K), prod(O)]. This order keeps neighbours of x adjacent.
Value Patches(Formula& f, Value windows, const Shape& shape, const Shape& kernel, int64_t groups) {
  const size_t spatial = kernel.size() - 2, front = shape.size() - 2 * spatial;
  const DimExpr columns = ElementCount(Shape(shape.begin() + front, shape.begin() + front + spatial));
  const DimExpr size = ElementCount(Shape(kernel.begin() + 2, kernel.end()));
  std::vector<int64_t> order = Axes(0, front);
  for (size_t first : {front + spatial, front}) {
    for (int64_t axis : Axes(first, spatial)) order.push_back(axis);
  }
  Value moved = f.Apply(OpKind::kTranspose, {windows}, {{"permutation", order}});
  return f.Apply(OpKind::kReshape, {moved}, {{"shape", Shape{shape[0], groups, kernel[1] * size, columns}}});
}

// x [N, C, D...] as [N, groups, C / groups, D...] if the windows' rank leaves room for one more dim. Then the windows
// of a group have dims of their own.
Value ByGroups(Formula& f, const Graph& graph, Value x, const Shape& kernel, int64_t groups) {
  const Shape& shape = graph.type(x).shape;
  if (groups == 1 || shape.size() + kernel.size() - 1 > kMaxRank) return x;
  return f.Apply(OpKind::kReshape, {x},
                 {{"shape", Joined({shape[0], groups, kernel[1]}, Shape(shape.begin() + 2, shape.end()))}});
}

// Patches() for dense 1-element windows: x [N, C, O...], without a copy.
Value Points(Formula& f, Value x, const Shape& shape, const Shape& kernel, int64_t groups) {
  const DimExpr columns = ElementCount(Shape(shape.begin() + 2, shape.end()));
  return f.Apply(OpKind::kReshape, {x}, {{"shape", Shape{shape[0], groups, kernel[1], columns}}});
}

// [N, B, K, P] x `weights` as `matrix` [B or 1, M, K] -> [N, B, P, M], plus bias.
Value ProductOfPatches(Formula& f, Value patches, Value weights, const Shape& matrix, Value bias) {
  Value rhs = f.Apply(OpKind::kReshape, {weights}, {{"shape", matrix}});
  Value product = f.Apply(OpKind::kDot, {patches, rhs}, {{"transpose_lhs", int64_t{1}}, {"transpose_rhs", int64_t{1}}});
  if (bias.node < 0) return product;
  Value offset = f.Apply(OpKind::kReshape, {bias}, {{"shape", Shape{matrix[0], 1, matrix[1]}}});
  return f.Apply(OpKind::kAdd, {product, offset});
}

// [N, groups, K, prod(O)] x [groups, M / groups, K] -> [N, M, O...].
Value MatmulOfPatches(Formula& f, const Graph& graph, Value patches, Value weights, Value bias, const Shape& out) {
  if (!f.ok()) return patches;
  const Shape rows = graph.type(patches).shape, kernel = graph.type(weights).shape;
  const DimExpr& groups = rows[1];
  Value product = ProductOfPatches(f, patches, weights, {groups, DimExpr::FloorDiv(kernel[0], groups), rows[2]}, bias);
  Value moved = f.Apply(OpKind::kTranspose, {product}, {{"permutation", std::vector<int64_t>{0, 1, 3, 2}}});
  return f.Apply(OpKind::kReshape, {moved}, {{"shape", Joined({rows[0], kernel[0]}, out)}});
}

// The number of windows along spatial dim `i` of x.
DimExpr WindowsAlong(const Graph& graph, Value x, const Shape& sizes, const Windows& windows, size_t i) {
  const auto at = [i](const auto& values, auto otherwise) { return values.empty() ? otherwise : values[i]; };
  const DimExpr padded = graph.type(x).shape[2 + i] + at(windows.low, DimExpr(0)) + at(windows.high, DimExpr(0));
  const DimExpr last = padded - (sizes[i] - 1) * at(windows.dilations, int64_t{1}) - 1;
  return DimExpr::FloorDiv(last, std::max<int64_t>(at(windows.strides, int64_t{1}), 1)) + 1;
}

// Whether a 3-D convolution is computed as one 2-D convolution per result frame (ConvOfFrames). Not if frames are known
// to have few results, which are the rows of a matmul, or if large windows may cover a frame.
bool HasFrames(const Graph& graph, Value x, Value weights, const Windows& windows, int64_t groups) {
  constexpr int64_t kFewResults = 32, kLargeWindow = 7;
  const Shape &shape = graph.type(x).shape, &kernel = graph.type(weights).shape;
  const Shape sizes(kernel.begin() + 2, kernel.end());
  if (shape.size() != 5 || groups != 1 || AllEqual(sizes, 1)) return false;
  const DimExpr results = WindowsAlong(graph, x, sizes, windows, 1) * WindowsAlong(graph, x, sizes, windows, 2);
  if (const std::optional<int64_t> count = results.constant()) return *count > kFewResults;
  return std::all_of(sizes.begin() + 1, sizes.end(), [](const DimExpr& size) {
    const std::optional<int64_t> elements = size.constant();
    return elements && *elements <= kLargeWindow;
  });
}

// `count` of the windows' dims.
Windows PartOf(const Windows& windows, size_t first, size_t count) {
  const auto part = [&](auto values) {
    return values.empty() ? values : decltype(values)(values.begin() + first, values.begin() + first + count);
  };
  return {.strides = part(windows.strides),
          .dilations = part(windows.dilations),
          .low = part(windows.low),
          .high = part(windows.high)};
}

// x [N, C, D, ...] as [N, O, C, K, ...]: the K frames that each of O windows spans, as further channels.
Value FramesAsChannels(Formula& f, const Graph& graph, Value x, const DimExpr& size, const Windows& windows) {
  if (!f.ok()) return x;
  const auto rank = static_cast<int64_t>(graph.type(x).shape.size());
  Value frames = f.Apply(OpKind::kWindow, {x},
                         {{"axes", std::vector<int64_t>{2}},
                          {"sizes", Shape{size}},
                          {"strides", windows.strides},
                          {"dilations", windows.dilations}});
  std::vector<int64_t> order = {0, 2, 1, rank};
  for (int64_t axis = 3; axis < rank; ++axis) order.push_back(axis);
  return f.Apply(OpKind::kTranspose, {frames}, {{"permutation", order}});
}

// x [N, C, D, H, W] by weights [M, C, K...]: each result frame is a 2-D convolution of an image of C * K channels. The
// rows of a matmul belong to one frame, so its staging buffer holds a part of one image, and Winograd's algorithm
// applies.
Value ConvOfFrames(Formula& f, const Graph& graph, Value x, Value weights, Value bias, const Windows& windows) {
  const Shape kernel = graph.type(weights).shape, sizes(kernel.begin() + 2, kernel.end());
  const Windows along = PartOf(windows, 0, 1), across = PartOf(windows, 1, 2);
  const bool pointwise = sizes[1] == DimExpr(1) && sizes[2] == DimExpr(1) && AllEqual(across.strides, 1) &&
                         AllEqual(across.low, 0) && AllEqual(across.high, 0);
  Shape out(graph.type(x).shape.begin() + 3, graph.type(x).shape.end());
  Value image = x;
  if (pointwise) {  // [N, C, D, H * W]
    const Shape& shape = graph.type(x).shape;
    image = f.Apply(OpKind::kReshape, {x}, {{"shape", Shape{shape[0], shape[1], shape[2], out[0] * out[1]}}});
  }
  if (!f.ok()) return x;
  Value padded = Padded(f, graph, image, pointwise ? PartOf(windows, 0, 2) : windows, 0);
  Value patches = FramesAsChannels(f, graph, padded, sizes[0], along);
  if (!f.ok()) return x;
  const Shape shape = graph.type(patches).shape;
  const DimExpr channels = kernel[1] * sizes[0], depth = channels * sizes[1] * sizes[2];
  if (!pointwise) {
    const Shape planes = {shape[0], shape[1], channels, shape[4], shape[5]};
    patches = f.Apply(OpKind::kReshape, {patches}, {{"shape", planes}});
    patches = WindowsOf(f, graph, patches, {sizes[1], sizes[2]}, across);  // [N, D, C * K, H, W, windows...]
    if (!f.ok()) return x;
    out = {graph.type(patches).shape[3], graph.type(patches).shape[4]};
    patches = f.Apply(OpKind::kTranspose, {patches}, {{"permutation", std::vector<int64_t>{0, 1, 2, 5, 6, 3, 4}}});
  }
  patches = f.Apply(OpKind::kReshape, {patches}, {{"shape", Shape{shape[0], shape[1], depth, out[0] * out[1]}}});
  Value product = ProductOfPatches(f, patches, weights, {1, kernel[0], depth}, bias);
  product = f.Apply(OpKind::kTranspose, {product}, {{"permutation", std::vector<int64_t>{0, 3, 1, 2}}});
  return f.Apply(OpKind::kReshape, {product}, {{"shape", Shape{shape[0], kernel[0], shape[1], out[0], out[1]}}});
}

// The results of a padded convolution with 1-element windows whose window lies inside x. With finite weights all others
// are zero before the bias. Per spatial dim: the number of results before the inside ones, the position in x of the
// first inside one, the number of inside ones, and the number of results after them.
struct InteriorRange {
  Shape before, starts, counts, after;
};

std::optional<InteriorRange> InsideOf(const Graph& graph, Value x, const Windows& windows, size_t spatial) {
  const Shape& shape = graph.type(x).shape;
  InteriorRange inside;
  for (size_t i = 0; i < spatial; ++i) {
    const auto low = windows.low.empty() ? 0 : windows.low[i].constant();
    const auto high = windows.high.empty() ? 0 : windows.high[i].constant();
    const int64_t stride = windows.strides.empty() ? 1 : windows.strides[i];
    const int64_t dilation = windows.dilations.empty() ? 1 : windows.dilations[i];
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();  // the general form reports errors
    if (!low || !high || *low < 0 || *high < 0 || *low > kMost || *high > kMost) return std::nullopt;
    if (stride < 1 || stride > kMost || dilation < 1) return std::nullopt;
    const DimExpr& dim_size = shape[shape.size() - spatial + i];
    const int64_t first = (*low + stride - 1) / stride;
    const DimExpr last = DimExpr::FloorDiv(dim_size + (*low - 1), stride);
    inside.before.push_back(first);
    inside.starts.push_back(DimExpr::Min(first * stride - *low, dim_size));
    inside.counts.push_back(last - (first - 1));
    inside.after.push_back(DimExpr::FloorDiv(dim_size + (*low + *high - 1), stride) - last);
  }
  return inside;
}

// A convolution with 1-element windows, some of which lie in the padding: computes the inside results and pads them by
// zeros.
Value PaddedPointwiseConv(Formula& f, Graph& graph, Value x, Value weights, const Windows& windows,
                          const InteriorRange& inside, int64_t groups) {
  if (!f.ok()) return x;
  const Shape shape = graph.type(x).shape, kernel = graph.type(weights).shape;
  const size_t spatial = inside.counts.size();
  const Shape front(shape.begin(), shape.begin() + 2), none(2, 0);
  std::vector<int64_t> steps = {1, 1};
  for (size_t i = 0; i < spatial; ++i) steps.push_back(windows.strides.empty() ? 1 : windows.strides[i]);
  Value taken =
      f.Apply(OpKind::kSlice, {x},
              {{"starts", Joined(none, inside.starts)}, {"sizes", Joined(front, inside.counts)}, {"steps", steps}});
  if (!f.ok()) return taken;
  const Shape points = graph.type(taken).shape;
  Value sums =
      MatmulOfPatches(f, graph, Points(f, taken, points, kernel, groups), weights, Value{-1, 0}, inside.counts);
  return f.Apply(OpKind::kPad, {sums, f.Scalar(sums, 0)},
                 {{"low", Joined(none, inside.before)}, {"high", Joined(none, inside.after)}});
}

// Adds bias [M] to results [N, M, O...].
Value WithBias(Formula& f, const Graph& graph, Value results, Value bias) {
  if (bias.node < 0 || !f.ok()) return results;
  const Shape& shape = graph.type(results).shape;
  const Shape spread = Joined({shape[1]}, Shape(shape.size() - 2, 1));
  return f.Apply(OpKind::kAdd, {results, f.Apply(OpKind::kReshape, {bias}, {{"shape", spread}})});
}

// Whether Winograd's algorithm computes a dilated convolution (codegen/lower/winograd_windows.h). Not if images are
// known to be small: it multiplies padding, and rounds their sides up to whole supertiles.
bool IsLeftToWinograd(const Graph& graph, Value x, Value weights, const Windows& windows, int64_t groups) {
  constexpr int64_t kLeastChannels = 16, kSmall = 25;  // elements, times the dilation squared
  const Shape &shape = graph.type(x).shape, &kernel = graph.type(weights).shape;
  if (kernel.size() != 4 || kernel[2] != DimExpr(3) || kernel[3] != DimExpr(3) || groups != 1) return false;
  const int64_t dilation = windows.dilations[0];
  if ((dilation != 2 && dilation != 4) || windows.dilations[1] != dilation) return false;
  const std::optional<int64_t> elements = (shape[2] * shape[3]).constant();
  return *kernel[0].constant() >= kLeastChannels && (!elements || *elements >= kSmall * dilation * dilation);
}

// Whether a convolution is computed as one matmul per window element ("tap"): its dilation is large, so that taps often
// lie in the padding, and it has enough channels to pay for the partial results. Stride 1, "same" padding, constant
// window sizes.
bool IsComputedByTaps(const Graph& graph, Value x, Value weights, const Windows& windows, int64_t groups) {
  constexpr int64_t kMostTaps = 9, kLeastChannels = 128, kLeastProduct = 1024;  // of channels and dilation
  const TensorType& type = graph.type(weights);
  const size_t spatial = type.shape.size() - 2;
  if (type.dtype != DType::kF32 || !IsFiniteConstant(graph, weights)) return false;
  if (graph.constant_data(weights.node).declared_hash || *type.shape[1].constant() < kLeastChannels) return false;
  const int64_t least_dilation = std::max<int64_t>(kLeastProduct / *type.shape[1].constant(), 2);
  if (windows.dilations.empty() || windows.low.empty() || windows.high.empty()) return false;
  if (!AllEqual(windows.strides, 1)) return false;
  if (IsLeftToWinograd(graph, x, weights, windows, groups)) return false;
  int64_t taps = 1;
  for (size_t i = 0; i < spatial; ++i) {
    const int64_t size = *type.shape[2 + i].constant(), dilation = windows.dilations[i];
    const auto low = windows.low[i].constant(), high = windows.high[i].constant();
    if (dilation < least_dilation || dilation > std::numeric_limits<int32_t>::max() || size < 1 || size > kMostTaps) {
      return false;
    }
    if (!low || !high || *low < 0 || *high < 0 || *low + *high != (size - 1) * dilation) return false;
    taps *= size;
  }
  return taps > 1 && taps <= kMostTaps;
}

// Elements [begin, end) of windows along one side.
struct Elements {
  int64_t begin = 0, end = 0;
};

// The elements that meet x for some result, and those between them: the others only meet padding. A dim of size 1 under
// windows of 3 with padding has the middle one. All, where sizes are symbolic.
Elements ElementsInside(const Graph& graph, Value x, const DimExpr& sizes, const Windows& windows, size_t side) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  const int64_t size = *sizes.constant();
  const Elements all{0, size};
  if (size > kMost) return all;
  const auto dim_size = graph.type(x).shape[2 + side].constant();
  const auto low = windows.low[side].constant(), high = windows.high[side].constant();
  if (!dim_size || !low || !high || *low < 0 || *high < 0 || std::max({*dim_size, *low, *high}) > kMost) return all;
  const int64_t stride = windows.strides.empty() ? 1 : windows.strides[side];
  const int64_t dilation = windows.dilations.empty() ? 1 : windows.dilations[side];
  // Numbers below 1 are refused where windows are appended.
  if (stride < 1 || dilation < 1 || dilation > kMost) return all;
  const int64_t span = *low + *dim_size + *high - (size - 1) * dilation - 1;  // from the first result to the end
  if (*dim_size < 1 || span < 0) return all;
  Elements inside = all;
  const int64_t last = span / stride * stride - *low;  // where the last window begins in x
  while (inside.begin + 1 < size && last + inside.begin * dilation < 0 && (inside.begin + 1) * dilation <= *low) {
    ++inside.begin;
  }
  while (inside.end - 1 > inside.begin && (inside.end - 1) * dilation - *low >= *dim_size &&
         (size - inside.end + 1) * dilation <= *high) {
    --inside.end;
  }
  return inside;
}

// The elements [begin, end) of [M, C, K...] along each K, of constant weights.
absl::StatusOr<Value> PartOfWeights(Graph& graph, Value weights, const std::vector<Elements>& kept,
                                    const std::string& name) {
  const TensorType type = graph.type(weights);
  const ConstantData whole = graph.constant_data(weights.node);
  Shape shape = type.shape;
  for (size_t side = 0; side < kept.size(); ++side) shape[2 + side] = kept[side].end - kept[side].begin;
  const size_t bytes = SizeOf(type.dtype), count = static_cast<size_t>(*ElementCount(shape).constant());
  const auto memory = std::make_shared<std::vector<std::byte>>(count * bytes);
  for (size_t i = 0; i < count; ++i) {
    int64_t rest = static_cast<int64_t>(i), from = 0, distance = 1;
    for (size_t d = shape.size(); d-- > 0;) {
      from += (rest % *shape[d].constant() + (d < 2 ? 0 : kept[d - 2].begin)) * distance;
      rest /= *shape[d].constant();
      distance *= *type.shape[d].constant();
    }
    std::memcpy(memory->data() + i * bytes,
                static_cast<const std::byte*>(whole.data) + static_cast<size_t>(from) * bytes, bytes);
  }
  return graph.AddConstant(name, type.dtype, shape, {memory, memory->data(), count * bytes, {}});
}

// Leaves out elements of constant finite weights that only meet padding, and so much padding.
absl::Status LeaveOutPadding(Graph& graph, Value x, Value& weights, Windows& windows) {
  const Node& node = graph.node(weights.node);
  if (node.op != OpKind::kConstant || windows.low.empty() || windows.high.empty()) return absl::OkStatus();
  const Shape kernel = graph.type(weights).shape;
  std::string name = absl::StrCat(node.string("name"), ".inside");
  std::vector<Elements> inside;
  bool all = true;
  for (size_t side = 0; side + 2 < kernel.size(); ++side) {
    const Elements& along = inside.emplace_back(ElementsInside(graph, x, kernel[2 + side], windows, side));
    const int64_t size = *kernel[2 + side].constant();
    all = all && along.end - along.begin == size;
    absl::StrAppend(&name, "_", along.begin, "_", along.end, "_", size);
  }
  if (all || !IsFiniteConstant(graph, weights) || graph.constant_data(weights.node).declared_hash) {
    return absl::OkStatus();
  }
  for (size_t side = 0; side < inside.size(); ++side) {
    const int64_t dilation = windows.dilations.empty() ? 1 : windows.dilations[side];
    windows.low[side] = windows.low[side] - inside[side].begin * dilation;
    windows.high[side] = windows.high[side] - (*kernel[2 + side].constant() - inside[side].end) * dilation;
  }
  TAILOR_ASSIGN_OR_RETURN(weights, PartOfWeights(graph, weights, inside, name));
  return absl::OkStatus();
}

// The sum over the taps of convolutions with 1-element windows, each computed inside x only.
absl::StatusOr<Value> ConvByTaps(Formula& f, Graph& graph, Value x, Value weights, const Windows& windows,
                                 int64_t groups) {
  const std::string name(graph.node(weights.node).string("name"));
  const Shape shape = graph.type(x).shape, kernel = graph.type(weights).shape;
  const size_t spatial = kernel.size() - 2;
  const int64_t taps = *ElementCount(Shape(kernel.begin() + 2, kernel.end())).constant();
  Value sum;
  for (int64_t tap = 0; tap < taps; ++tap) {
    InteriorRange inside;
    std::vector<Elements> kept;
    int64_t inner = taps;
    for (size_t i = 0; i < spatial; ++i) {
      const int64_t size = *kernel[2 + i].constant();
      inner /= size;
      const int64_t element = tap / inner % size;
      kept.push_back({element, element + 1});
      const int64_t offset = element * windows.dilations[i] - *windows.low[i].constant();
      const DimExpr& dim_size = shape[2 + i];
      // Min(0, dim_size) is not known to be 0, and without that the shapes of taps would not be known to be equal.
      const DimExpr none = 0, outside = offset == 0 ? none : DimExpr::Min(std::abs(offset), dim_size);
      inside.before.push_back(offset < 0 ? outside : none);
      inside.starts.push_back(offset > 0 ? outside : none);
      inside.counts.push_back(dim_size - outside);
      inside.after.push_back(offset > 0 ? outside : none);
    }
    TAILOR_ASSIGN_OR_RETURN(const Value of_tap, PartOfWeights(graph, weights, kept, absl::StrCat(name, ".tap", tap)));
    const Value part = PaddedPointwiseConv(f, graph, x, of_tap, {}, inside, groups);
    sum = tap == 0 ? part : f.Apply(OpKind::kAdd, {sum, part});
  }
  return sum;
}

// Whether a convolution has one output channel and windows of few elements. As a matmul it would have one column.
bool HasOneChannel(const Graph& graph, Value weights, int64_t groups) {
  constexpr int64_t kMostElements = 64;
  const TensorType& type = graph.type(weights);
  const Shape sizes(type.shape.begin() + 2, type.shape.end());
  const std::optional<int64_t> elements = ElementCount(sizes).constant();
  // Narrower dtypes would round the sum of each channel.
  const bool wide = type.dtype == DType::kF32 || type.dtype == DType::kF64;
  return wide && groups == 1 && type.shape[0] == DimExpr(1) && elements && *elements > 1 && *elements <= kMostElements;
}

// The sums over the windows of each channel, as of a depthwise convolution, then over the channels.
Value ConvOfOneChannel(Formula& f, const Graph& graph, Value x, Value weights, Value bias, const Windows& windows) {
  const Shape kernel = graph.type(weights).shape, sizes(kernel.begin() + 2, kernel.end());
  Value by_channel = f.Apply(OpKind::kReshape, {weights}, {{"shape", Joined({kernel[1], 1}, sizes)}});
  Value taken = WindowsOf(f, graph, Padded(f, graph, x, windows, 0), sizes, windows);
  Value sums = DepthwiseConv(f, graph, taken, by_channel, Value{-1, 0});
  if (!f.ok()) return x;
  Shape shape = graph.type(sums).shape;
  shape[1] = 1;
  Value total = f.Apply(OpKind::kReduceSum, {sums}, {{"axes", std::vector<int64_t>{1}}});
  return WithBias(f, graph, f.Apply(OpKind::kReshape, {total}, {{"shape", shape}}), bias);
}

}  // namespace

absl::StatusOr<Value> Conv(Graph& graph, Value x, Value all_weights, Value bias, const Windows& all_windows,
                           int64_t groups) {
  TAILOR_RETURN_IF_ERROR(CheckValue(graph, "conv", "weights", all_weights));
  const size_t rank = graph.type(all_weights).shape.size();
  if (rank < 2) {
    return absl::InvalidArgumentError(absl::StrCat("conv: operand \"weights\" (", graph.NameOf(all_weights),
                                                   ") has rank ", rank, ", needs at least 2"));
  }
  if (groups < 1) return absl::InvalidArgumentError(absl::StrCat("conv: groups is ", groups, ", needs at least 1"));
  const Shape& whole = graph.type(all_weights).shape;
  TAILOR_RETURN_IF_ERROR(CheckWindows(graph, "conv", x, Shape(whole.begin() + 2, whole.end()), all_windows));
  Value weights = all_weights;
  Windows windows = all_windows;
  TAILOR_RETURN_IF_ERROR(LeaveOutPadding(graph, x, weights, windows));
  const Shape kernel = graph.type(weights).shape, sizes(kernel.begin() + 2, kernel.end());

  Formula f(&graph);
  const bool depthwise = kernel[1] == DimExpr(1) && kernel[0] == DimExpr(groups) && groups > 1;
  const bool pads = !AllEqual(windows.low, 0) || !AllEqual(windows.high, 0);
  if (pads && AllEqual(sizes, 1) && !depthwise && IsFiniteConstant(graph, weights)) {
    if (const auto inside = InsideOf(graph, x, windows, sizes.size())) {
      const Value results = PaddedPointwiseConv(f, graph, x, weights, windows, *inside, groups);
      return f.Finish(WithBias(f, graph, results, bias));
    }
  }
  if (!depthwise && IsComputedByTaps(graph, x, weights, windows, groups)) {
    TAILOR_ASSIGN_OR_RETURN(const Value results, ConvByTaps(f, graph, x, weights, windows, groups));
    return f.Finish(WithBias(f, graph, results, bias));
  }
  if (HasOneChannel(graph, weights, groups)) return f.Finish(ConvOfOneChannel(f, graph, x, weights, bias, windows));
  if (!depthwise && HasFrames(graph, x, weights, windows, groups))
    return f.Finish(ConvOfFrames(f, graph, x, weights, bias, windows));
  const bool pointwise = AllEqual(sizes, 1) && AllEqual(windows.strides, 1);
  const Value image = pointwise || depthwise ? x : ByGroups(f, graph, x, kernel, groups);
  TAILOR_RETURN_IF_ERROR(f.Finish(image).status());
  Value padded = Padded(f, graph, image, windows, 0);
  Value taken = pointwise ? padded : WindowsOf(f, graph, padded, sizes, windows);
  TAILOR_RETURN_IF_ERROR(f.Finish(taken).status());
  const Shape shape = graph.type(taken).shape;
  const size_t first = graph.type(image).shape.size() - sizes.size();
  const Shape out(shape.begin() + first, shape.begin() + first + sizes.size());
  if (depthwise && !pointwise) {
    return f.Finish(DepthwiseConv(f, graph, taken, weights, bias));
  }
  Value patches = pointwise ? Points(f, taken, shape, kernel, groups) : Patches(f, taken, shape, kernel, groups);
  return f.Finish(MatmulOfPatches(f, graph, patches, weights, bias, out));
}

absl::StatusOr<Value> MaxPool(Graph& graph, Value x, const Shape& sizes, const Windows& windows) {
  TAILOR_RETURN_IF_ERROR(CheckWindows(graph, "max_pool", x, sizes, windows));
  Formula f(&graph);
  const double least = -std::numeric_limits<double>::infinity();  // for integers, saturates to the lowest value
  Value padded = Padded(f, graph, x, windows, least);
  return f.Finish(
      ReduceWindows(f, graph, OpKind::kReduceMax, WindowsOf(f, graph, padded, sizes, windows), sizes.size()));
}

absl::StatusOr<Value> AveragePool(Graph& graph, Value x, const Shape& sizes, const Windows& windows,
                                  bool count_include_pad) {
  TAILOR_RETURN_IF_ERROR(CheckWindows(graph, "average_pool", x, sizes, windows));
  Formula f(&graph);
  Value padded = Padded(f, graph, x, windows, 0);
  Value taken = WindowsOf(f, graph, padded, sizes, windows);
  if (count_include_pad || padded == x) {
    return f.Finish(ReduceWindows(f, graph, OpKind::kReduceMean, taken, sizes.size()));
  }
  const Shape& shape = graph.type(x).shape;
  Value ones = f.Apply(OpKind::kBroadcast, {f.Scalar(x, 1)}, {{"shape", Shape(shape.begin() + 2, shape.end())}});
  Value present = WindowsOf(f, graph, Padded(f, graph, ones, windows, 0), sizes, windows);
  Value sum = ReduceWindows(f, graph, OpKind::kReduceSum, taken, sizes.size());
  Value count = ReduceWindows(f, graph, OpKind::kReduceSum, present, sizes.size());
  return f.Finish(f.Apply(OpKind::kDiv, {sum, count}));
}

}  // namespace tailor
