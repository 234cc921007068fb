// Padding with a constant, or with what lies inside.
#include <string>

#include "bindings/onnx/node.h"
#include "bindings/onnx/operators.h"

namespace tailor::onnx {
namespace {

using frontend::Builder;
using frontend::Dim;
using frontend::Dims;
using frontend::Element;
using frontend::Fail;
using frontend::Shape;
using frontend::Tensor;

struct Amounts {  // before and after one axis; negative ones crop
  Element low = Dim(0), high = Dim(0);

  bool known() const { return low.is_dim() && high.is_dim(); }
};

Shape WithDim(Shape shape, int64_t axis, const Dim& dim) {
  shape[static_cast<size_t>(axis)] = dim;
  return shape;
}

// `amount` elements before or after x along an axis, made of x's own.
Tensor Border(const Tensor& x, int64_t axis, const Dim& amount, bool front, const std::string& mode) {
  Dims& dims = x.builder().dims();
  const Dim size = x.dim(static_cast<int>(axis));
  if (mode == "edge") {
    const Tensor edge = SliceAxis(x, axis, front ? Dim(0) : dims.Sub(size, 1), 1);
    return Broadcast(edge, WithDim(x.shape(), axis, amount));
  }
  if (mode == "wrap") return SliceAxis(x, axis, front ? dims.Sub(size, amount) : Dim(0), amount);
  return SliceAxis(x, axis, front ? amount : dims.Sub(size, 2), amount, -1);  // reflect: without the edge itself
}

// How many elements a negative amount takes away.
Dim Cropped(Dims& dims, const Dim& amount) {
  return dims.NonNegative(amount) ? Dim(0) : dims.Max(dims.Sub(0, amount), 0);
}

Tensor Bordered(const Tensor& given, int64_t axis, const Dim& low, const Dim& high, const std::string& mode) {
  Dims& dims = given.builder().dims();
  const Dim front = Cropped(dims, low), back = Cropped(dims, high);
  Tensor x = given;
  if (!front.is(0) || !back.is(0)) {
    x = SliceAxis(x, axis, front, dims.Sub(x.dim(static_cast<int>(axis)), dims.Add(front, back)));
  }
  const Dim before = dims.Add(low, front), after = dims.Add(high, back);
  std::vector<Tensor> parts;
  if (!before.is(0)) parts.push_back(Border(x, axis, before, true, mode));
  parts.push_back(x);
  if (!after.is(0)) parts.push_back(Border(x, axis, after, false, mode));
  return Concat(parts, axis);
}

// x with one axis padded by amounts that the graph computes. In mode "constant" the filling is x's last element there.
Tensor PaddedByData(const Tensor& x, int64_t axis, const Dim& dim, const Amounts& amounts, const std::string& mode) {
  Builder& builder = x.builder();
  const Tensor size = builder.Number(dim);
  const Tensor low = builder.NumberOf(amounts.low), high = builder.NumberOf(amounts.high);
  const Dim out = builder.DimOf(Max(low + high + size, 0));
  Tensor index = Iota(builder, {out}, 0, DType::kI64) - low;
  if (mode == "constant") {
    index = Select((index >= 0) & (index < size), index, size);
  } else if (mode == "edge") {
    index = Max(Min(index, size - 1), 0);
  } else if (mode == "wrap") {
    index = Mod(index, size);
  } else {  // reflect: there and back, the ends once
    const Tensor period = Max((size - 1) * 2, 1), within = Mod(index, period);
    index = Min(within, period - within);
  }
  return Gather(x, index, axis);
}

// `fill`: absent for 0.
Tensor Padded(const Node& node, const std::vector<Amounts>& amounts, const Tensor& fill) {
  const std::string mode = node.String("mode");
  if (mode != "constant" && mode != "edge" && mode != "reflect" && mode != "wrap") {
    Fail("unknown mode \"" + mode + "\"");
  }
  Tensor x = node[0];
  if (mode == "constant") {
    Shape low, high;
    for (const Amounts& axis : amounts) {
      low.push_back(axis.known() ? axis.low.dim : Dim(0));
      high.push_back(axis.known() ? axis.high.dim : Dim(1));
    }
    x = Pad(x, fill ? node.ScalarOf(fill) : node.builder().Constant(frontend::Array::Integer(x.dtype(), 0)), low, high);
  }
  for (size_t axis = 0; axis < amounts.size(); ++axis) {
    const auto along = static_cast<int64_t>(axis);
    if (!amounts[axis].known()) {
      x = PaddedByData(x, along, node[0].shape()[axis], amounts[axis], mode);
    } else if (mode != "constant") {
      x = Bordered(x, along, amounts[axis].low.dim, amounts[axis].high.dim, mode);
    }
  }
  return x;
}

// By axis, from all that is before the listed axes and then all that is after them.
std::vector<Amounts> AmountsOf(const Node& node, const std::vector<Element>& pads, const std::vector<int64_t>& axes) {
  if (pads.size() != 2 * axes.size()) {
    Fail(std::to_string(pads.size()) + " amounts for " + std::to_string(axes.size()) + " axes");
  }
  const int rank = node[0].rank();
  std::vector<Amounts> amounts(static_cast<size_t>(rank));
  for (size_t i = 0; i < axes.size(); ++i) {
    amounts[static_cast<size_t>(node.Axis(axes[i], rank))] = {pads[i], pads[i + axes.size()]};
  }
  return amounts;
}

std::vector<int64_t> AllAxes(const Tensor& x) {
  std::vector<int64_t> axes;
  for (int64_t axis = 0; axis < x.rank(); ++axis) axes.push_back(axis);
  return axes;
}

Tensors Pad(const Node& node) {
  const auto axes = node[3] ? node.KnownInts(node[3], "the list of axes") : AllAxes(node[0]);
  return {Padded(node, AmountsOf(node, node.Parts(node[1], "the padding"), axes), node[2])};
}

Tensors PadByAttributes(const Node& node) {
  const auto pads = node.Ints("pads");
  const Tensor fill = node.builder().Scalar(node[0].dtype(), node.Float("value"));
  return {Padded(node, AmountsOf(node, {pads.begin(), pads.end()}, AllAxes(node[0])), fill)};
}

// The middle of a larger dim; a smaller one between zeros, of which the odd one is last.
Tensors CenterCropPad(const Node& node) {
  const Tensor& x = node[0];
  Dims& dims = node.dims();
  const Shape wanted = node.DimsOf(node[1], "the shape");
  const auto axes = node.Has("axes") ? node.Ints("axes") : AllAxes(x);
  if (wanted.size() != axes.size()) {
    Fail("the shape has " + std::to_string(wanted.size()) + " sizes for " + std::to_string(axes.size()) + " axes");
  }
  Shape start(x.shape().size(), 0), kept = x.shape(), low = start, high = start;
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(node.Axis(axes[i], x.rank()));
    const Dim size = x.shape()[axis];
    kept[axis] = dims.Min(size, wanted[i]);
    start[axis] = dims.FloorDiv(dims.Sub(size, kept[axis]), 2);
    const Dim more = dims.Sub(wanted[i], kept[axis]);
    low[axis] = dims.FloorDiv(more, 2);
    high[axis] = dims.Sub(more, low[axis]);
  }
  return {Pad(Slice(x, start, kept), 0, low, high)};
}

constexpr OperatorRow kPadRows[] = {
    {"", "CenterCropPad", 18, "input_data shape", "output_data", "axes:ints", CenterCropPad},
    {"", "Pad", 2, "data", "output", "mode:string=constant pads:ints! value:float=0.0", PadByAttributes},
    {"", "Pad", 11, "data pads constant_value?", "output", "mode:string=constant", Pad},
    {"", "Pad", 18, "data pads constant_value? axes?", "output", "mode:string=constant", Pad},
};

}  // namespace

std::span<const OperatorRow> PadOperators() { return kPadRows; }

}  // namespace tailor::onnx
