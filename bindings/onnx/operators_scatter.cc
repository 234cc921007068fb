// Operators that write where other tensors say.
#include <string>

#include "bindings/onnx/indexing.h"
#include "bindings/onnx/node.h"
#include "bindings/onnx/operators.h"

namespace tailor::onnx {
namespace {

using frontend::Array;
using frontend::Builder;
using frontend::Dim;
using frontend::Dims;
using frontend::Fail;
using frontend::Shape;
using frontend::Tensor;

std::string CombinerOf(const Node& node) {
  const std::string reduction = node.Has("reduction") ? node.String("reduction") : "none";
  if (reduction == "none") return "set";
  if (reduction != "add" && reduction != "mul" && reduction != "max" && reduction != "min") {
    Fail("unknown reduction \"" + reduction + "\"");
  }
  return reduction;
}

// One index for each dim (they broadcast to `shape`), side by side: [shape..., count].
Tensor Places(const Tensors& indices, const Shape& shape) {
  Shape column = shape;
  column.push_back(1);
  Tensors columns;
  for (const Tensor& index : indices) columns.push_back(Reshape(Broadcast(index, shape), column));
  return Concat(columns, -1);
}

Tensors ScatterElements(const Node& node) {
  const Tensor &x = node[0], &indices = node[1], &updates = node[2];
  const int64_t axis = node.Axis(node.Int("axis"), x.rank());
  if (indices.rank() != x.rank() || updates.rank() != x.rank()) {
    Fail("indices have rank " + std::to_string(indices.rank()) + ", updates " + std::to_string(updates.rank()) +
         ", the data " + std::to_string(x.rank()));
  }
  const ElementIndices found = WithoutRows(indices, x.shape(), static_cast<int>(axis));
  Tensors every;
  for (int i = 0; i < static_cast<int>(found.shape.size()); ++i) {
    every.push_back(i == axis ? Cast(found.index, DType::kI64) : Position(node.builder(), found.shape, i));
  }
  return {Scatter(x, Places(every, found.shape), updates, CombinerOf(node))};
}

Tensors ScatterND(const Node& node) {
  const Tensor& indices = node[1];
  if (indices.rank() > 0 && !indices.dim(-1).known()) {
    frontend::Unsupported("indices of a dynamic number of entries");
  }
  return {Scatter(node[0], AsIndex(indices), node[2], CombinerOf(node))};
}

// `update` written into the cache along one axis, from each batch's own start on.
Tensors TensorScatter(const Node& node) {
  const Tensor &cache = node[0], &update = node[1], &start = node[2];
  const auto axis = static_cast<int>(node.Axis(node.Int("axis"), cache.rank()));
  const std::string mode = node.String("mode");
  if (axis == 0 || update.rank() != cache.rank()) {
    Fail("axis " + std::to_string(axis) + ", ranks " + std::to_string(cache.rank()) + " and " +
         std::to_string(update.rank()));
  }
  if (mode != "linear" && mode != "circular") Fail("unknown mode \"" + mode + "\"");
  Builder& builder = node.builder();
  const Shape dims(update.shape().begin(), update.shape().begin() + axis + 1);
  Tensor step = Position(builder, dims, axis);
  if (start) {
    Shape first(dims.size(), 1);
    first[0] = start.dim(0);
    step = Reshape(Cast(start, DType::kI64), first) + step;
  }
  if (mode == "circular") step = Mod(step, builder.Number(cache.dim(axis)));
  Tensors every;
  for (int i = 0; i < axis; ++i) every.push_back(Position(builder, dims, i));
  every.push_back(step);
  return {Scatter(cache, Places(every, dims), update, "set")};
}

// Zeros, but x where its pool found it. A wanted shape adds zeros at the end of each dim.
Tensors MaxUnpool(const Node& node) {
  const Tensor& x = node[0];
  Dims& dims = node.dims();
  const auto kernel = node.Ints("kernel_shape");
  const size_t rank = kernel.size();
  const auto strides = node.Ints("strides", std::vector<int64_t>(rank, 1));
  const auto pads = node.Ints("pads", std::vector<int64_t>(2 * rank, 0));
  if (x.shape().size() != rank + 2 || strides.size() != rank || pads.size() != 2 * rank) {
    Fail(std::to_string(x.rank() - 2) + " spatial dims, but a window of " + std::to_string(rank));
  }
  Shape shape = {x.dim(0), x.dim(1)};
  for (size_t i = 0; i < rank; ++i) {
    const Dim steps = dims.Mul(dims.Sub(x.shape()[i + 2], 1), strides[i]);
    shape.push_back(dims.Add(steps, dims.Sub(kernel[i], dims.Add(pads[i], pads[i + rank]))));
  }
  const Tensor zero = node.builder().Constant(Array::Integer(x.dtype(), 0));
  const Tensor flat = Broadcast(zero, {dims.Product(shape)});
  const Dim count = dims.Product(x.shape());
  const Tensor places = Reshape(Cast(node[1], DType::kI64), {count, 1});
  const Tensor out = Reshape(Scatter(flat, places, Reshape(x, {count}), "set"), shape);
  if (!node[2]) return {out};
  const Shape sizes = node.DimsOf(node[2], "the output's shape");
  if (sizes.size() != shape.size()) {
    Fail("an output's shape of " + std::to_string(sizes.size()) + " dims for rank " + std::to_string(x.rank()));
  }
  Shape high;
  for (size_t i = 0; i < sizes.size(); ++i) high.push_back(dims.Sub(sizes[i], shape[i]));
  return {Pad(out, zero, Shape(shape.size(), 0), high)};
}

// The windows of an image, as Col2Im sees them.
struct Windows {
  Shape image, kernel, padded, counts;
  std::vector<int64_t> strides, dilations, pads;
};

Windows WindowsOf(const Node& node) {
  Dims& dims = node.dims();
  Windows w;
  w.image = node.DimsOf(node[1], "the image's shape");
  w.kernel = node.DimsOf(node[2], "the block");
  const size_t rank = w.kernel.size();
  w.strides = node.Ints("strides", std::vector<int64_t>(rank, 1));
  w.dilations = node.Ints("dilations", std::vector<int64_t>(rank, 1));
  w.pads = node.Ints("pads", std::vector<int64_t>(2 * rank, 0));
  if (node[0].rank() != 3 || rank == 0 || w.image.size() != rank || w.strides.size() != rank ||
      w.dilations.size() != rank || w.pads.size() != 2 * rank) {
    Fail("the numbers of dims of image, block, strides, dilations and pads differ");
  }
  for (size_t i = 0; i < rank; ++i) {
    if (w.strides[i] < 1 || w.dilations[i] < 1) Fail("strides and dilations must be positive");
    w.padded.push_back(dims.Add(w.image[i], dims.Add(w.pads[i], w.pads[i + rank])));
    const Dim span = dims.Add(dims.Mul(dims.Sub(w.kernel[i], 1), w.dilations[i]), 1);
    w.counts.push_back(dims.Add(dims.FloorDiv(dims.Sub(w.padded[i], span), w.strides[i]), 1));
  }
  return w;
}

// The place of each tap of each window in a flat padded plane: i64 that broadcasts to [kernel..., counts...].
Tensor PlacesOf(Builder& builder, const Windows& w, const Shape& taps) {
  const int rank = static_cast<int>(w.kernel.size());
  Tensor place;
  for (int i = 0; i < rank; ++i) {
    const auto at = static_cast<size_t>(i);
    const Tensor index =
        Position(builder, taps, i) * w.dilations[at] + Position(builder, taps, rank + i) * w.strides[at];
    place = i == 0 ? index : place * builder.Number(w.padded[at]) + index;
  }
  return place;
}

// Each tap of each window is added to its place in the padded planes, whose padding is then cut off.
Tensors Col2Im(const Node& node) {
  const Tensor& x = node[0];
  Dims& dims = node.dims();
  const Windows w = WindowsOf(node);
  Shape taps = w.kernel;
  taps.insert(taps.end(), w.counts.begin(), w.counts.end());
  const Tensor place = PlacesOf(node.builder(), w, taps);
  const Dim updates = dims.Product(taps);
  const Dim channels = dims.FloorDiv(x.dim(1), dims.Product(w.kernel)), planes = dims.Mul(x.dim(0), channels);
  const Tensor columns = Transpose(Reshape(x, {planes, updates}), {1, 0});
  const Tensor places = Reshape(Broadcast(place, taps), {updates, 1});
  const Tensor zero = node.builder().Constant(Array::Integer(x.dtype(), 0));
  const Tensor zeros = Broadcast(zero, {dims.Product(w.padded), planes});
  const Tensor total = Transpose(Scatter(zeros, places, columns, "add"), {1, 0});
  Shape planar = {x.dim(0), channels}, start = {0, 0}, sizes = planar;
  planar.insert(planar.end(), w.padded.begin(), w.padded.end());
  start.insert(start.end(), w.pads.begin(), w.pads.begin() + static_cast<std::ptrdiff_t>(w.kernel.size()));
  sizes.insert(sizes.end(), w.image.begin(), w.image.end());
  return {Slice(Reshape(total, planar), start, sizes)};
}

constexpr OperatorRow kScatterRows[] = {
    {"", "Col2Im", 18, "input image_shape block_shape", "output", "dilations:ints pads:ints strides:ints", Col2Im},
    {"", "MaxUnpool", 9, "X I output_shape?", "output", "kernel_shape:ints! pads:ints strides:ints", MaxUnpool},
    {"", "Scatter", 9, "data indices updates", "output", "axis:int=0", ScatterElements},
    {"", "Scatter", 11, "", "", "", nullptr},  // deprecated
    {"", "ScatterElements", 11, "data indices updates", "output", "axis:int=0", ScatterElements},
    {"", "ScatterElements", 16, "data indices updates", "output", "axis:int=0 reduction:string=none", ScatterElements},
    {"", "ScatterND", 11, "data indices updates", "output", "", ScatterND},
    {"", "ScatterND", 16, "data indices updates", "output", "reduction:string=none", ScatterND},
    {"", "TensorScatter", 24, "past_cache update write_indices?", "present_cache", "axis:int=-2 mode:string=linear",
     TensorScatter},
};

}  // namespace

std::span<const OperatorRow> ScatterOperators() { return kScatterRows; }

}  // namespace tailor::onnx
