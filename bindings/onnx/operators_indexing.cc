// Operators that read where other tensors say, or as many elements as data says.
#include <optional>
#include <string>

#include "bindings/onnx/indexing.h"
#include "bindings/onnx/node.h"
#include "bindings/onnx/operators.h"

namespace tailor::onnx {
namespace {

using frontend::Builder;
using frontend::Dim;
using frontend::Dims;
using frontend::Fail;
using frontend::Shape;
using frontend::Tensor;

Tensors Gather(const Node& node) {
  return {Gather(node[0], AsIndex(node[1]), node.Axis(node.Int("axis"), node[0].rank()))};
}

// A dim that is at most another, or must be in every run.
void DemandAtMost(const Node& node, const Dim& dim, const Dim& most, const std::string& what) {
  Dims& dims = node.dims();
  const auto fits = dims.IsAtMost(dim, most);
  if (fits == false) Fail(what + " is " + dims.Text(dim) + ", more than the data's " + dims.Text(most));
  if (!fits) dims.AssumeAtLeast(most, dim, node.Label() + ", " + what);
}

Tensors GatherElements(const Node& node) {
  const Tensor &x = node[0], &indices = node[1];
  const int64_t axis = node.Axis(node.Int("axis"), x.rank());
  if (indices.rank() != x.rank()) {
    Fail("indices have rank " + std::to_string(indices.rank()) + ", the data " + std::to_string(x.rank()));
  }
  const ElementIndices found = WithoutRows(indices, x.shape(), static_cast<int>(axis));
  const Tensor index = CheckedIndex(node, Cast(found.index, DType::kI64), static_cast<int>(axis));
  Tensors every;
  for (int i = 0; i < static_cast<int>(found.shape.size()); ++i) {
    if (i != axis) DemandAtMost(node, indices.dim(i), x.dim(i), "dim " + std::to_string(i) + " of the indices");
    every.push_back(i == axis ? index : Position(node.builder(), found.shape, i));
  }
  return {FlatGather(x, x.shape(), every, found.shape)};
}

Tensors GatherND(const Node& node) {
  const Tensor &x = node[0], &indices = node[1];
  const int64_t batch = node.Int("batch_dims", 0);
  const Dim depth = indices.dim(-1);
  const Shape outer(indices.shape().begin(), indices.shape().end() - 1);
  if (batch < 0 || batch > x.rank() || batch > static_cast<int64_t>(outer.size()) || !depth.known() ||
      depth.number() > x.rank() - batch) {
    Fail("indices of " + node.dims().Text(depth) + " entries after " + std::to_string(batch) +
         " batch dims do not fit rank " + std::to_string(x.rank()));
  }
  Tensors every;
  for (int i = 0; i < batch; ++i) {
    const Dim& rows = outer[static_cast<size_t>(i)];
    if (node.dims().IsEqual(rows, x.dim(i)) != true) node.dims().AssumeEqual(rows, x.dim(i));
    every.push_back(Position(node.builder(), outer, i));
  }
  for (int64_t i = 0; i < depth.number(); ++i) {
    const Tensor part = Cast(Reshape(SliceAxis(indices, -1, i, 1), outer), DType::kI64);
    every.push_back(CheckedIndex(node, part, static_cast<int>(batch + i)));
  }
  return {FlatGather(x, x.shape(), every, outer)};
}

// One element, which may be a float, as an integer in rank 0.
Tensor Integer(const Node& node, const Tensor& x) {
  const Tensor scalar = node.ScalarOf(x);
  return IsFloat(scalar.dtype()) ? Cast(scalar, DType::kI64) : scalar;
}

Tensors OneHot(const Node& node) {
  const Tensor &indices = node[0], &values = node[2];
  const Dim count = node.DimsOf(Integer(node, node[1]), "the depth").at(0);
  const int rank = indices.rank() + 1;
  const auto axis = static_cast<int>(node.Axis(node.Int("axis"), rank));
  Shape dims = indices.shape(), along(static_cast<size_t>(rank), 1);
  dims.insert(dims.begin() + axis, 1);
  along[static_cast<size_t>(axis)] = count;
  const Tensor index = WrappedIndex(Reshape(Cast(indices, DType::kI64), dims), count);
  const auto value = [&](int64_t i) { return Reshape(SliceAxis(values, 0, i, 1), {}); };
  return {Select(Eq(index, Position(node.builder(), along, axis)), value(1), value(0))};
}

// The first sequence_lens[b] elements along the time axis backwards, the rest as they are.
Tensors ReverseSequence(const Node& node) {
  const Tensor& x = node[0];
  const int64_t batch = node.Int("batch_axis"), time = node.Int("time_axis");
  if (x.rank() < 2 || !((batch == 0 && time == 1) || (batch == 1 && time == 0))) {
    Fail("batch_axis is " + std::to_string(batch) + " and time_axis " + std::to_string(time) +
         ", not 0 and 1, of rank " + std::to_string(x.rank()));
  }
  Builder& builder = node.builder();
  Shape dims(x.shape().size(), 1);
  dims[static_cast<size_t>(batch)] = x.shape()[static_cast<size_t>(batch)];
  const Tensor length = Reshape(Cast(node[1], DType::kI64), dims);
  const Tensor step = Position(builder, x.shape(), static_cast<int>(time));
  const Tensor index = CheckedIndex(node, Select(step < length, length - step - 1, step), static_cast<int>(time));
  Tensors every;
  for (int i = 0; i < x.rank(); ++i) every.push_back(i == time ? index : Position(builder, x.shape(), i));
  return {FlatGather(x, x.shape(), every, x.shape())};
}

Tensors TopK(const Node& node) {
  Dim count;
  if (node.Has("k")) {
    count = node.Int("k");
  } else {
    const Shape given = node.DimsOf(node[1], "the number of elements");
    if (given.size() != 1) Fail("K has " + std::to_string(given.size()) + " elements, not 1");
    count = given[0];
  }
  const int64_t axis = node.Axis(node.Int("axis"), node[0].rank());
  if (count.is(0)) {
    const Tensor none = SliceAxis(node[0], axis, 0, 0);
    return {none, Broadcast(node.builder().Number(0), none.shape())};
  }
  // Sorted whether or not that is asked for.
  const auto out = TopK(node[0], count, axis, node.Int("largest", 1) != 0);
  return {out.values, out.indices};
}

Tensors NonZero(const Node& node) { return {NonZero(node[0])}; }

Tensors Unique(const Node& node) {
  std::optional<int64_t> axis;
  if (node.Has("axis")) axis = node.Axis(node.Int("axis"), node[0].rank());
  const auto out = Unique(node[0], axis, node.Flag("sorted"));
  return {out.values, out.indices, out.inverse, out.counts};
}

// The slices along an axis, or the elements, that the condition keeps. It may be shorter than their number.
Tensors Compress(const Node& node) {
  const Tensor& condition = node[1];
  if (condition.rank() != 1) Fail("the condition has rank " + std::to_string(condition.rank()));
  Tensor x = node.Has("axis") ? node[0] : Reshape(node[0], {node.dims().Product(node[0].shape())});
  const int64_t axis = node.Axis(node.Int("axis", 0), x.rank());
  if (condition.array() != nullptr) {
    const Tensor kept = NonZero(condition);
    return {Gather(x, Reshape(kept, {kept.dim(1)}), axis)};
  }
  const Dim count = condition.dim(0);
  if (node.dims().IsEqual(count, x.dim(static_cast<int>(axis))) != true) x = SliceAxis(x, axis, 0, count);
  std::vector<int64_t> order = {axis}, back;
  for (int64_t i = 0; i < x.rank(); ++i) {
    if (i != axis) order.push_back(i);
    back.push_back(i == axis ? 0 : i < axis ? i + 1 : i);
  }
  return {Transpose(Compact(Transpose(x, order), condition), back)};
}

constexpr OperatorRow kIndexingRows[] = {
    {"", "Compress", 9, "input condition", "output", "axis:int", Compress},
    {"", "Gather", 1, "data indices", "output", "axis:int=0", Gather, kMoves},
    {"", "GatherElements", 11, "data indices", "output", "axis:int=0", GatherElements, kMoves},
    {"", "GatherND", 11, "data indices", "output", "", GatherND, kMoves},
    {"", "GatherND", 12, "data indices", "output", "batch_dims:int=0", GatherND, kMoves},
    {"", "NonZero", 9, "X", "Y", "", NonZero},
    {"", "OneHot", 9, "indices depth values", "output", "axis:int=-1", OneHot},
    {"", "ReverseSequence", 10, "input sequence_lens", "Y", "batch_axis:int=1 time_axis:int=0", ReverseSequence},
    {"", "TopK", 1, "X", "Values Indices", "axis:int=-1 k:int!", TopK},
    {"", "TopK", 10, "X K", "Values Indices", "axis:int=-1", TopK},
    {"", "TopK", 11, "X K", "Values Indices", "axis:int=-1 largest:int=1 sorted:int=1", TopK},
    {"", "Unique", 11, "X", "Y indices? inverse_indices? counts?", "axis:int sorted:int=1", Unique},
};

}  // namespace

std::span<const OperatorRow> IndexingOperators() { return kIndexingRows; }

}  // namespace tailor::onnx
