// Constants, and tensors that are filled by a rule or by repetition.
#include <cmath>
#include <string>

#include "bindings/onnx/data_types.h"
#include "bindings/onnx/indexing.h"
#include "bindings/onnx/node.h"
#include "bindings/onnx/operators.h"

namespace tailor::onnx {
namespace {

using frontend::Array;
using frontend::Builder;
using frontend::Dim;
using frontend::Dims;
using frontend::Element;
using frontend::Fail;
using frontend::Shape;
using frontend::Tensor;

Tensors Constant(const Node& node) {
  Builder& builder = node.builder();
  if (node.Has("value_float")) return {builder.Scalar(DType::kF32, node.Float("value_float"))};
  if (node.Has("value_int")) return {builder.Constant(Array::Integer(DType::kI64, node.Int("value_int")))};
  if (node.Has("value_ints")) return {builder.Constant(Array::Integers(node.Ints("value_ints")))};
  if (node.Has("value_floats")) {
    const auto given = node.Floats("value_floats");
    std::vector<float> numbers;
    for (double number : given) numbers.push_back(static_cast<float>(number));
    return {builder.Constant(Array::Floats(numbers, {static_cast<int64_t>(numbers.size())}))};
  }
  const Tensor value = node.TensorOf("value");
  if (!value) frontend::Unsupported("constants of texts or sparse tensors are not supported");
  return {value};
}

Tensors ConstantOfShape(const Node& node) {
  const Tensor given = node.TensorOf("value");
  const Shape shape = node.DimsOf(node[0], "the shape");
  for (const Dim& dim : shape) {
    if (dim.known() && dim.number() < 0) Fail("the shape has the negative dim " + std::to_string(dim.number()));
  }
  if (!given) return {Broadcast(node.builder().Scalar(DType::kF32, 0), shape)};
  if (given.array()->size() != 1)
    Fail("its attribute \"value\" has " + std::to_string(given.array()->size()) + " elements, not 1");
  const Tensor out = Broadcast(node.ScalarOf(given), shape);
  return {given.narrow() == frontend::Narrow::kNone ? out : out.With(given.narrow())};
}

Tensors Expand(const Node& node) {
  const Tensor& x = node[0];
  Dims& dims = node.dims();
  Shape target = node.DimsOf(node[1], "the shape"), from = x.shape();
  const size_t rank = std::max(target.size(), from.size());
  target.insert(target.begin(), rank - target.size(), 1);
  from.insert(from.begin(), rank - from.size(), 1);
  Shape shape;
  for (size_t i = 0; i < rank; ++i) {
    const auto one = dims.IsEqual(target[i], 1);
    if (one == true || dims.IsEqual(from[i], target[i]) == true) {
      shape.push_back(from[i]);
    } else if (one == false || dims.IsEqual(from[i], 1) == true) {
      shape.push_back(target[i]);
    } else {  // a run decides which of them broadcasts
      const Tensor every = Broadcast(node.builder().Scalar(DType::kBool, 1), target);
      return {Select(every, x, x)};
    }
  }
  return {Broadcast(x, shape)};
}

// Each dim d becomes [1, d], by broadcasting [r, d], and then r * d.
Tensors Tile(const Node& node) {
  Tensor x = node[0];
  Dims& dims = node.dims();
  const Shape repeats = node.DimsOf(node[1], "the repeats");
  if (repeats.size() != x.shape().size()) {
    Fail(std::to_string(repeats.size()) + " repeats for rank " + std::to_string(x.rank()));
  }
  if (2 * repeats.size() <= TAILOR_MAX_RANK) {
    Shape apart, wide, tiled;
    for (size_t i = 0; i < repeats.size(); ++i) {
      const Dim dim = x.shape()[i];
      apart.insert(apart.end(), {1, dim});
      wide.insert(wide.end(), {repeats[i], dim});
      tiled.push_back(dims.Mul(repeats[i], dim));
    }
    return {Reshape(Broadcast(Reshape(x, apart), wide), tiled)};
  }
  for (size_t i = 0; i < repeats.size(); ++i) {
    Shape shape = x.shape();
    const auto split = shape.begin() + static_cast<std::ptrdiff_t>(i);
    const Dim rows = dims.Product({shape.begin(), split}), row = dims.Product({split, shape.end()});
    shape[i] = dims.Mul(repeats[i], shape[i]);
    x = Reshape(Broadcast(Reshape(x, {rows, 1, row}), {rows, repeats[i], row}), shape);
  }
  return {x};
}

// The number of elements of a range of constants.
int64_t CountOfFloats(double start, double limit, double delta) {
  const double count = std::ceil((limit - start) / delta);
  if (!(count <= static_cast<double>(frontend::kLargestDim))) {
    Fail("from " + std::to_string(start) + " to " + std::to_string(limit) + " by " + std::to_string(delta) +
         " are too many elements");
  }
  return count > 0 ? static_cast<int64_t>(count) : 0;
}

// The number of elements of a range. Operands have rank 0.
Dim CountOfRange(const Tensor& start, const Tensor& limit, const Tensor& delta) {
  Builder& builder = start.builder();
  Dims& dims = builder.dims();
  if (IsFloat(start.dtype())) {
    if (start.array() && limit.array() && delta.array()) {
      return CountOfFloats(start.array()->number(0), limit.array()->number(0), delta.array()->number(0));
    }
    const auto wide = [](const Tensor& x) { return Cast(x, DType::kF64); };
    const Tensor count = Ceil((wide(limit) - wide(start)) / wide(delta));
    const Tensor whole = Cast(Max(count, 0.0), DType::kI64);
    const auto known = builder.KnownElements(whole);
    return builder.DimOf(known ? known->at(0) : Element(whole));
  }
  const auto first = builder.KnownElements(start), last = builder.KnownElements(limit),
             step = builder.KnownElements(delta);
  if (first && last && step && step->at(0).is_number()) {
    const int64_t by = step->at(0).dim.number();
    if (by == 0) Fail("a step is 0");
    const Dim span = by > 0 ? dims.Sub(last->at(0).dim, first->at(0).dim) : dims.Sub(first->at(0).dim, last->at(0).dim);
    return dims.Max(dims.CeilDiv(span, by > 0 ? by : dims.Sub(0, by).number()), 0);
  }
  const auto wide = [](const Tensor& x) { return Cast(x, DType::kI64); };
  const Tensor count = StepsBefore(wide(start), wide(limit), wide(delta));
  const auto known = builder.KnownElements(count);
  return builder.DimOf(known ? known->at(0) : Element(count));
}

Tensors Range(const Node& node) {
  const DType dtype = node[0].dtype();
  const bool narrow = dtype == DType::kF16 || dtype == DType::kBF16;
  const DType within = narrow && node.Int("stash_type", 1) == 1 ? DType::kF32 : dtype;
  const auto operand = [&](int index) { return Cast(node.ScalarOf(node[index]), within); };
  const Tensor start = operand(0), limit = operand(1), delta = operand(2);
  const Tensor index = Iota(node.builder(), {CountOfRange(start, limit, delta)}, 0, within);
  return {Cast(index * delta + start, dtype)};
}

Tensors EyeLike(const Node& node) {
  const Tensor& x = node[0];
  if (x.rank() != 2) Fail("needs rank 2, not " + std::to_string(x.rank()));
  const Tensor row = Iota(node.builder(), {x.dim(0), 1}, 0, DType::kI64);
  const Tensor column = Iota(node.builder(), {1, x.dim(1)}, 1, DType::kI64);
  return {Cast(Eq(row + node.Int("k"), column), node.Has("dtype") ? node.TypeOf("dtype") : x.dtype())};
}

Tensors Trilu(const Node& node) {
  const Tensor& x = node[0];
  const Dim rows = x.dim(-2), columns = x.dim(-1);
  const Tensor distance =
      Iota(node.builder(), {1, columns}, 1, DType::kI64) - Iota(node.builder(), {rows, 1}, 0, DType::kI64);
  const Tensor shift = node[1] ? Cast(node.ScalarOf(node[1]), DType::kI64) : node.builder().Number(0);
  return {Select(node.Flag("upper") ? distance >= shift : distance <= shift, x, 0)};
}

constexpr OperatorRow kFillRows[] = {
    {"", "Constant", 1, "", "output", "value:tensor!", Constant},
    {"", "Constant", 11, "", "output", "sparse_value:sparse value:tensor", Constant},
    {"", "Constant", 12, "", "output",
     "sparse_value:sparse value:tensor value_float:float value_floats:floats value_int:int value_ints:ints "
     "value_string:string value_strings:strings",
     Constant},
    {"", "ConstantOfShape", 9, "input", "output", "value:tensor", ConstantOfShape},
    {"", "Expand", 8, "input shape", "output", "", Expand, kMoves},
    {"", "EyeLike", 9, "input", "output", "dtype:int k:int=0", EyeLike},
    {"", "Range", 11, "start limit delta", "output", "", Range},
    {"", "Range", 27, "start limit delta", "output", "stash_type:int=1", Range},
    {"", "Tile", 6, "input repeats", "output", "", Tile, kMoves},
    {"", "Trilu", 14, "input k?", "output", "upper:int=1", Trilu},
};

}  // namespace

std::span<const OperatorRow> FillOperators() { return kFillRows; }

}  // namespace tailor::onnx
