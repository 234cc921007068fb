#include "bindings/onnx/indexing.h"

#include <string>

#include "bindings/frontend/error.h"
#include "bindings/frontend/ops.h"

namespace tailor::onnx {

using frontend::Dim;
using frontend::Dims;
using frontend::Shape;
using frontend::Tensor;

Tensor AsIndex(const Tensor& tensor) { return tensor.dtype() == DType::kI32 ? tensor : Cast(tensor, DType::kI64); }

Tensor IndexOf(frontend::Builder& builder, const Shape& shape) {
  const auto dims = builder.dims().Handles(shape);
  return builder.Append({}, [&](tailor_value* out) {
    return tailor_graph_iota(builder.graph(), dims.data(), dims.size(), 0, TAILOR_I64, out);
  });
}

Tensor WrappedIndex(const Tensor& index, const Dim& size) {
  return Select(index < 0, index + index.builder().Number(size), index);
}

Tensor CheckedIndex(const Node& node, const Tensor& index, int axis) {
  const Dim& size = node[0].dim(axis);
  const std::string dim = "dim " + std::to_string(axis) + " of " + std::string(node.proto().inputs.at(0));
  if (const frontend::Array* known = index.array(); known != nullptr && size.known()) {
    for (int64_t i = 0; i < known->size(); ++i) {
      const int64_t number = known->integer(i);
      if (number >= -size.number() && number < size.number()) continue;
      frontend::Fail("index " + std::to_string(number) + " is out of range for " + dim + ", which has " +
                     std::to_string(size.number()) + " entries");
    }
  }
  if (!index.computed()) return WrappedIndex(index, size);
  // The element of 0, 1, ... at an index is the index: compiled, only the check remains.
  const Tensor all = IndexOf(index.builder(), {size});
  all.SetName(dim);
  const Tensor checked = Gather(all, index, 0);
  checked.SetName(std::string(node.proto().outputs.at(0)) + " (indices)");
  return checked;
}

Tensor Position(frontend::Builder& builder, const Shape& shape, int axis) {
  const int rank = static_cast<int>(shape.size());
  if (axis < 0 || axis >= rank) {
    frontend::Fail("axis " + std::to_string(axis) + " is out of range for rank " + std::to_string(rank));
  }
  Shape dims(static_cast<size_t>(rank - axis), 1);
  dims[0] = shape[static_cast<size_t>(axis)];
  return Iota(builder, dims, 0, DType::kI64);
}

ElementIndices WithoutRows(const Tensor& indices, const Shape& x, int axis) {
  const Tensor once = indices.repeated() ? indices.repeated() : indices;
  Shape sizes(static_cast<size_t>(indices.rank() - once.rank()), 1);
  sizes.insert(sizes.end(), once.shape().begin(), once.shape().end());
  const auto is_row = [&](size_t d) {
    return sizes[d] == Dim(1) && indices.builder().dims().IsEqual(indices.shape()[d], x[d]) == true;
  };
  size_t rank = sizes.size();
  while (rank > static_cast<size_t>(axis) + 1 && is_row(rank - 1)) --rank;
  if (rank == sizes.size()) return {indices, indices.shape()};
  const auto end = static_cast<std::ptrdiff_t>(rank);
  return {Reshape(once, Shape(sizes.begin(), sizes.begin() + end)),
          Shape(indices.shape().begin(), indices.shape().begin() + end)};
}

Tensor FlatGather(const Tensor& x, const Shape& shape, const std::vector<Tensor>& indices, const Shape& out) {
  if (indices.empty() || indices.size() > shape.size()) {
    frontend::Fail(std::to_string(indices.size()) + " indices for rank " + std::to_string(shape.size()));
  }
  const auto split = shape.begin() + static_cast<std::ptrdiff_t>(indices.size());
  Tensor linear = indices[0];
  for (size_t i = 1; i < indices.size(); ++i) linear = linear * x.builder().Number(shape[i]) + indices[i];
  Shape flat(split, shape.end());
  flat.insert(flat.begin(), x.builder().dims().Product(Shape(shape.begin(), split)));
  return Gather(Reshape(x, flat), Broadcast(linear, out), 0);
}

Tensor StepsBefore(const Tensor& start, const Tensor& end, const Tensor& step) {
  const Tensor span = end - start;
  if (step.array() != nullptr) {
    const int64_t number = step.array()->integer(0);
    if (number == 1) return Max(span, 0);
    return number > 0 ? Max((span + (number - 1)) / number, 0) : Max((-span + (-(number + 1))) / (-step), 0);
  }
  const Tensor whole = span / step, rest = span - whole * step;
  const Tensor more = Ne(rest, 0) & Eq(rest < 0, step < 0);
  return Max(whole + Cast(more, DType::kI64), 0);
}

}  // namespace tailor::onnx
