// Pools: reductions over windows, and over whole planes.
#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "bindings/onnx/convolution.h"
#include "bindings/onnx/indexing.h"
#include "bindings/onnx/node.h"
#include "bindings/onnx/operators.h"

namespace tailor::onnx {
namespace {

using frontend::Dim;
using frontend::Operand;
using frontend::ReduceOp;
using frontend::Shape;
using frontend::Tensor;

constexpr int64_t kNowhere = int64_t{1} << 62;

Window WindowOf(const Node& node) {
  const Window window(node, SpatialDims(node[0]), node.Ints("kernel_shape"), WindowOptionsOf(node));
  window.DemandElements();
  return window;
}

// What max never prefers.
Operand LeastOf(DType dtype) {
  if (IsFloat(dtype)) return -std::numeric_limits<double>::infinity();
  if (dtype == DType::kBool || IsUnsigned(dtype)) return 0;
  return std::numeric_limits<int64_t>::min() >> (64 - 8 * SizeOf(dtype));
}

// The place in x, as if flat, of each window's first greatest element.
Tensor MaxIndices(const Node& node, const Window& window, const Tensor& view) {
  const Tensor& x = node[0];
  std::vector<int64_t> axes = window.axes();
  if (node.Int("storage_order", 0) != 0) std::reverse(axes.begin(), axes.end());
  axes.insert(axes.begin(), {0, 1});
  Tensor place;
  for (int64_t axis : axes) {
    const Tensor index = Position(node.builder(), x.shape(), static_cast<int>(axis));
    place = place ? place * node.builder().Number(x.dim(static_cast<int>(axis))) + index : index;
  }
  const Tensor places = window.View(window.Pad(Broadcast(place, x.shape()), kNowhere));
  const Tensor greatest = Reduce(ReduceOp::kMax, view, window.inner(), true);
  return Reduce(ReduceOp::kMin, Select(Eq(view, greatest), places, kNowhere), window.inner());
}

Tensors MaxPool(const Node& node) {
  const Window window = WindowOf(node);
  const Tensor view = window.View(window.Pad(node[0], LeastOf(node[0].dtype())));
  Tensors out = {Reduce(ReduceOp::kMax, view, window.inner())};
  if (node.WantsOutput(1)) out.push_back(MaxIndices(node, window, view));
  return out;
}

// How many elements each window counts along spatial dim `i`, with as many 1 after it as other spatial dims.
Tensor CountAlong(const Node& node, const Window& window, DType dtype, size_t i) {
  frontend::Dims& dims = node.dims();
  const auto rank = static_cast<size_t>(window.rank());
  const std::string mode = node.String("auto_pad");
  const bool same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
  std::vector<int64_t> pads = node.Ints("pads", {});
  if (mode == "VALID" || pads.empty()) pads.assign(2 * rank, 0);
  Dim size = node[0].shape()[i + 2], low = window.low()[i], high = window.high()[i];
  if (node.Int("count_include_pad", 0) != 0) {
    // Not what ceil_mode adds.
    const Dim before = same ? low : Dim(pads[i]), after = same ? high : Dim(pads[i + rank]);
    size = dims.Add(dims.Add(size, before), after);
    low = dims.Sub(low, before);
    high = dims.Sub(high, after);
  }
  const Tensor ones = Broadcast(node.builder().Scalar(dtype, 1), {size});
  const Tensor view = frontend::Window(Pad(ones, 0, {low}, {high}), {0}, {window.sizes()[i]}, {window.strides()[i]},
                                       {window.dilations()[i]});
  const Tensor count = Reduce(ReduceOp::kSum, view, {1});
  Shape shape(rank - i, 1);
  shape[0] = count.dim(0);
  return Reshape(count, shape);
}

}  // namespace

Tensor AveragePooled(const Node& node) {
  const Window window = WindowOf(node);
  return ThroughF32(node[0], [&](const Tensor& x) {
    Tensor count = CountAlong(node, window, x.dtype(), 0);
    for (size_t i = 1; i < static_cast<size_t>(window.rank()); ++i) {
      count = count * CountAlong(node, window, x.dtype(), i);
    }
    return Reduce(ReduceOp::kSum, window.View(window.Pad(x, 0)), window.inner()) / count;
  });
}

namespace {

Tensors AveragePool(const Node& node) { return {AveragePooled(node)}; }

// |x| to the power p.
Tensor Raised(const Tensor& x, int64_t power) {
  if (power < 1) frontend::Fail("p is " + std::to_string(power));
  if (power == 1) return Abs(x);
  return power == 2 ? x * x : Pow(Abs(x), static_cast<double>(power));
}

Tensor Root(const Tensor& x, int64_t power) {
  if (power == 1) return x;
  return power == 2 ? Sqrt(x) : Pow(x, 1.0 / static_cast<double>(power));
}

Tensors LpPool(const Node& node) {
  const Window window = WindowOf(node);
  const int64_t power = node.Int("p");
  const Tensor out = ThroughF32(node[0], [&](const Tensor& x) {
    const Tensor view = window.View(window.Pad(Raised(x, power), 0));
    return Root(Reduce(ReduceOp::kSum, view, window.inner()), power);
  });
  return {out};
}

// The spatial dims reduced to 1.
Tensor OfPlanes(ReduceOp op, const Tensor& x) {
  std::vector<int64_t> axes(SpatialDims(x).size());
  std::iota(axes.begin(), axes.end(), 2);
  return Reduce(op, x, axes, true);
}

Tensors GlobalAveragePool(const Node& node) { return {OfPlanes(ReduceOp::kMean, node[0])}; }

Tensors GlobalMaxPool(const Node& node) { return {OfPlanes(ReduceOp::kMax, node[0])}; }

Tensors GlobalLpPool(const Node& node) {
  const int64_t power = node.Int("p");
  const auto norm = [&](const Tensor& x) { return Root(OfPlanes(ReduceOp::kSum, Raised(x, power)), power); };
  return {ThroughF32(node[0], norm)};
}

constexpr OperatorRow kPoolOperators[] = {
    {"", "AveragePool", 1, "X", "Y", "auto_pad:string=NOTSET kernel_shape:ints! pads:ints strides:ints", AveragePool},
    {"", "AveragePool", 7, "X", "Y",
     "auto_pad:string=NOTSET count_include_pad:int=0 kernel_shape:ints! pads:ints strides:ints", AveragePool},
    {"", "AveragePool", 10, "X", "Y",
     "auto_pad:string=NOTSET ceil_mode:int=0 count_include_pad:int=0 kernel_shape:ints! pads:ints strides:ints",
     AveragePool},
    {"", "AveragePool", 19, "X", "Y",
     "auto_pad:string=NOTSET ceil_mode:int=0 count_include_pad:int=0 dilations:ints kernel_shape:ints! pads:ints "
     "strides:ints",
     AveragePool},
    {"", "GlobalAveragePool", 1, "X", "Y", "", GlobalAveragePool},
    {"", "GlobalLpPool", 2, "X", "Y", "p:int=2", GlobalLpPool},
    {"", "GlobalMaxPool", 1, "X", "Y", "", GlobalMaxPool},
    {"", "LpPool", 2, "X", "Y", "auto_pad:string=NOTSET kernel_shape:ints! p:int=2 pads:ints strides:ints", LpPool},
    {"", "LpPool", 18, "X", "Y",
     "auto_pad:string=NOTSET ceil_mode:int=0 dilations:ints kernel_shape:ints! p:int=2 pads:ints strides:ints", LpPool},
    {"", "MaxPool", 1, "X", "Y", "auto_pad:string=NOTSET kernel_shape:ints! pads:ints strides:ints", MaxPool},
    {"", "MaxPool", 8, "X", "Y Indices?",
     "auto_pad:string=NOTSET kernel_shape:ints! pads:ints storage_order:int=0 strides:ints", MaxPool},
    {"", "MaxPool", 10, "X", "Y Indices?",
     "auto_pad:string=NOTSET ceil_mode:int=0 dilations:ints kernel_shape:ints! pads:ints storage_order:int=0 "
     "strides:ints",
     MaxPool},
};

}  // namespace

std::span<const OperatorRow> PoolOperators() { return kPoolOperators; }

}  // namespace tailor::onnx
