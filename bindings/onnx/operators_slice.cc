// Slices of tensors by numpy's rules.
#include <algorithm>
#include <string>

#include "bindings/onnx/indexing.h"
#include "bindings/onnx/node.h"
#include "bindings/onnx/operators.h"

namespace tailor::onnx {
namespace {

using frontend::Builder;
using frontend::Dim;
using frontend::Dims;
using frontend::Element;
using frontend::Fail;
using frontend::kLargestDim;
using frontend::Shape;
using frontend::Tensor;

// A number of rank 0 as a dim; one that the graph computes is at least 0.
Dim DimOfScalar(const Tensor& scalar) {
  const auto known = scalar.builder().KnownElements(scalar);
  return scalar.builder().DimOf(known ? known->at(0) : Element(scalar));
}

// A slice's bound, counted from the end if negative, within [low, high].
Dim Clamped(Dims& dims, const Dim& bound, const Dim& size, const Dim& low, const Dim& high) {
  const frontend::DimRange range = dims.Range(bound);
  if (range.min >= kLargestDim) return high;
  if (range.max < -kLargestDim) return low;
  if (range.min >= 0) return dims.Min(bound, high);
  if (range.max < 0) return dims.Max(dims.Add(bound, size), low);
  const Dim from_front = dims.Add(bound, dims.Mul(dims.Less(bound, 0), size));
  return dims.Min(dims.Max(from_front, low), high);
}

struct Indices {
  Tensor start, count;  // i64 of rank 0
};

// The indices of a slice whose bounds or step the graph computes.
Indices Measured(Builder& builder, const Dim& dim, const Element& first, const Element& last, const Element& by) {
  const Tensor size = builder.Number(dim), step = builder.NumberOf(by);
  Tensor low = builder.Number(0), high = size;
  if (!by.is_number()) {
    low = Select(step > 0, low, -1);
    high = Select(step > 0, size, size - 1);
  } else if (by.dim.number() < 0) {
    low = builder.Number(-1);
    high = size - 1;
  }
  const auto from_front = [&](const Element& bound) {
    const Tensor at = builder.NumberOf(bound);
    return Select(at < 0, at + size, at);
  };
  const Tensor start = Min(Max(from_front(first), 0), high), end = Max(Min(from_front(last), high), low);
  return {start, StepsBefore(start, end, step)};
}

struct Cut {
  Dim start, count;
};

Cut CutOf(Builder& builder, const Dim& size, const Element& first, const Element& last, int64_t step) {
  Dims& dims = builder.dims();
  if (!first.is_dim() || !last.is_dim()) {
    const Indices indices = Measured(builder, size, first, last, step);
    return {DimOfScalar(Max(indices.start, 0)), DimOfScalar(indices.count)};
  }
  const Dim low = step > 0 ? 0 : -1, high = step > 0 ? size : dims.Sub(size, 1);
  const Dim end = Clamped(dims, last.dim, size, low, high);
  Dim start = Clamped(dims, first.dim, size, low, high);
  if (step < 0 && dims.IsLess(first.dim, -1) != false) start = dims.Min(dims.Max(start, 0), high);  // before the front
  const Dim span = step > 0 ? dims.Sub(end, start) : dims.Sub(start, end);
  const Dim count = dims.Max(dims.CeilDiv(span, step > 0 ? step : -step), 0);
  return {dims.NonNegative(start) ? start : dims.Max(start, 0), count};
}

Tensor SliceAxes(const Node& node, const std::vector<Element>& starts, const std::vector<Element>& ends,
                 const std::vector<int64_t>& axes, const std::vector<Element>& steps) {
  if (starts.size() != ends.size() || starts.size() != axes.size() || starts.size() != steps.size()) {
    Fail("starts, ends, axes and steps have different lengths");
  }
  Builder& builder = node.builder();
  const Tensor& x = node[0];
  Shape begin(x.shape().size(), 0), sizes = x.shape();
  std::vector<int64_t> strides(x.shape().size(), 1);
  std::vector<size_t> gathered;  // those whose step is no number
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(node.Axis(axes[i], x.rank()));
    if (!steps[i].is_number()) {
      gathered.push_back(i);
      continue;
    }
    if (steps[i].dim.is(0)) Fail("a step is 0");
    // Larger steps leave at most one element too.
    strides[axis] = std::clamp(steps[i].dim.number(), -kLargestDim - 1, kLargestDim + 1);
    const Cut cut = CutOf(builder, x.shape()[axis], starts[i], ends[i], strides[axis]);
    begin[axis] = cut.start;
    sizes[axis] = cut.count;
  }
  Tensor out = Slice(x, begin, sizes, strides);
  for (size_t i : gathered) {
    const int64_t axis = node.Axis(axes[i], x.rank());
    const Indices indices = Measured(builder, x.shape()[static_cast<size_t>(axis)], starts[i], ends[i], steps[i]);
    const Tensor counted = Iota(builder, {DimOfScalar(indices.count)}, 0, DType::kI64);
    out = Gather(out, counted * builder.NumberOf(steps[i]) + indices.start, axis);
  }
  return out;
}

std::vector<int64_t> FirstAxes(size_t count) {
  std::vector<int64_t> axes;
  for (size_t i = 0; i < count; ++i) axes.push_back(static_cast<int64_t>(i));
  return axes;
}

Tensors Slice(const Node& node) {
  const auto starts = node.Parts(node[1], "the starts"), ends = node.Parts(node[2], "the ends");
  const auto axes = node[3] ? node.KnownInts(node[3], "the list of axes") : FirstAxes(starts.size());
  const auto steps = node[4] ? node.Parts(node[4], "the steps") : std::vector<Element>(axes.size(), int64_t{1});
  return {SliceAxes(node, starts, ends, axes, steps)};
}

Tensors SliceByAttributes(const Node& node) {
  const auto starts = node.Ints("starts"), ends = node.Ints("ends");
  const auto axes = node.Ints("axes", FirstAxes(starts.size()));
  return {SliceAxes(node, {starts.begin(), starts.end()}, {ends.begin(), ends.end()}, axes,
                    std::vector<Element>(axes.size(), int64_t{1}))};
}

// The sizes of a split's results along the axis.
Shape SizesOf(const Node& node, const Dim& size) {
  if (node[1]) return node.DimsOf(node[1], "the sizes");
  if (node.Has("split")) {
    const auto split = node.Ints("split");
    return {split.begin(), split.end()};
  }
  const int64_t count = node.Int("num_outputs", node.outputs());
  if (count != node.outputs()) {
    Fail("num_outputs is " + std::to_string(count) + " for " + std::to_string(node.outputs()) + " results");
  }
  if (count < 1) Fail("has no results");
  Dims& dims = node.dims();
  const Dim each = dims.CeilDiv(size, count);
  Shape sizes(static_cast<size_t>(count), each);
  sizes.back() = dims.Sub(size, dims.Mul(each, count - 1));
  if (!size.known() || sizes.back().number() >= 0) return sizes;
  Dim left = size;  // there may be too few for the last ones
  for (Dim& one : sizes) {
    one = dims.Min(each, left);
    left = dims.Sub(left, one);
  }
  return sizes;
}

Tensors Split(const Node& node) {
  const Tensor& x = node[0];
  const int64_t axis = node.Axis(node.Int("axis"), x.rank());
  const Dim& size = x.dim(static_cast<int>(axis));
  const Shape sizes = SizesOf(node, size);
  if (sizes.size() != static_cast<size_t>(node.outputs())) {
    Fail(std::to_string(sizes.size()) + " sizes for " + std::to_string(node.outputs()) + " results");
  }
  if (node[1] || node.Has("split")) DemandSum(node, sizes, size);
  Tensors out;
  Dim start = 0;
  for (const Dim& part : sizes) {
    out.push_back(SliceAxis(x, axis, start, part));
    start = node.dims().Add(start, part);
  }
  return out;
}

constexpr OperatorRow kSliceRows[] = {
    {"", "Slice", 1, "data", "output", "axes:ints ends:ints! starts:ints!", SliceByAttributes, kMoves},
    {"", "Slice", 10, "data starts ends axes? steps?", "output", "", Slice, kMoves},
    {"", "Split", 2, "input", "outputs*", "axis:int=0 split:ints", Split, kMoves},
    {"", "Split", 13, "input split?", "outputs*", "axis:int=0", Split, kMoves},
    {"", "Split", 18, "input split?", "outputs*", "axis:int=0 num_outputs:int", Split, kMoves},
};

}  // namespace

std::span<const OperatorRow> SliceOperators() { return kSliceRows; }

}  // namespace tailor::onnx
