#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "bindings/frontend/codec.h"
#include "bindings/frontend/error.h"
#include "bindings/frontend/evaluate.h"
#include "bindings/frontend/strides.h"

namespace tailor::frontend {
namespace {

// out[i] = x[offset of i by `strides`, from `start`].
Array Moved(const Array& x, const std::vector<int64_t>& shape, const Strides& strides, int64_t start) {
  Array out = Array::New(x.dtype(), shape);
  VisitCodec(x.dtype(), [&](auto codec) {
    using Stored = typename decltype(codec)::Stored;
    const Stored* from = x.as<Stored>() + start;
    auto* to = out.fill<Stored>();
    ForEachElement(shape, std::array<Strides, 1>{strides}, [&](int64_t i, const auto& at) { to[i] = from[at[0]]; });
  });
  return out;
}

}  // namespace

Array EvaluateBroadcast(const Array& x, const std::vector<int64_t>& shape) {
  if (BroadcastShape(x.shape(), shape) != shape) Fail("a constant does not broadcast to its shape");
  return Moved(x, shape, BroadcastStrides(x.shape(), shape.size()), 0);
}

Array EvaluateTranspose(const Array& x, const std::vector<int64_t>& permutation) {
  const Strides dense = DenseStrides(x.shape());
  std::vector<int64_t> shape;
  Strides strides;
  for (int64_t axis : permutation) {
    shape.push_back(x.shape()[static_cast<size_t>(axis)]);
    strides.push_back(dense[static_cast<size_t>(axis)]);
  }
  return Moved(x, shape, strides, 0);
}

Array EvaluateSlice(const Array& x, const std::vector<int64_t>& starts, const std::vector<int64_t>& sizes,
                    const std::vector<int64_t>& steps) {
  if (CountOf(sizes) == 0) return Array::New(x.dtype(), sizes);
  Strides strides = DenseStrides(x.shape());
  int64_t start = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    start += starts[i] * strides[i];
    strides[i] = sizes[i] == 1 ? 0 : strides[i] * steps[i];
  }
  return Moved(x, sizes, strides, start);
}

Array EvaluatePad(const Array& x, const Array& value, const std::vector<int64_t>& shape,
                  const std::vector<int64_t>& low, const std::vector<int64_t>& interior) {
  Array out = Array::New(x.dtype(), shape);
  std::array<Strides, 1> strides = {DenseStrides(shape)};
  int64_t start = 0;
  for (size_t i = 0; i < low.size(); ++i) {
    start += low[i] * strides[0][i];
    strides[0][i] *= interior[i] + 1;
  }
  VisitCodec(x.dtype(), [&](auto codec) {
    using Stored = typename decltype(codec)::Stored;
    const auto* from = x.as<Stored>();
    auto* to = out.fill<Stored>();
    std::fill_n(to, out.size(), *value.as<Stored>());
    ForEachElement(x.shape(), strides, [&](int64_t i, const auto& at) { to[start + at[0]] = from[i]; });
  });
  return out;
}

Array EvaluateConcat(const std::vector<Array>& xs, int64_t axis) {
  const auto along = static_cast<size_t>(axis);
  std::vector<int64_t> shape = xs[0].shape();
  shape[along] = 0;
  for (const Array& x : xs) shape[along] += x.shape()[along];
  Array out = Array::New(xs[0].dtype(), shape);
  if (out.size() == 0) return out;
  int64_t rows = 1;
  for (size_t i = 0; i < along; ++i) rows *= shape[i];
  auto* to = out.fill<char>();
  for (int64_t row = 0; row < rows; ++row) {
    for (const Array& x : xs) {
      const size_t bytes = x.bytes() / static_cast<size_t>(rows);
      if (bytes > 0) std::memcpy(to, x.as<char>() + static_cast<size_t>(row) * bytes, bytes);
      to += bytes;
    }
  }
  return out;
}

Array EvaluateGather(const Array& x, const Array& indices, int64_t axis) {
  const auto along = static_cast<size_t>(axis);
  const int64_t size = x.shape()[along];
  std::vector<int64_t> shape(x.shape().begin(), x.shape().begin() + axis);
  shape.insert(shape.end(), indices.shape().begin(), indices.shape().end());
  shape.insert(shape.end(), x.shape().begin() + axis + 1, x.shape().end());
  if (size == 0 && indices.size() > 0) Fail("an index into a dim of no elements");
  Array out = Array::New(x.dtype(), shape);
  if (out.size() == 0) return out;
  int64_t rows = 1, bytes = SizeOf(x.dtype());
  for (size_t i = 0; i < along; ++i) rows *= x.shape()[i];
  for (size_t i = along + 1; i < x.shape().size(); ++i) bytes *= x.shape()[i];
  auto* to = out.fill<char>();
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t i = 0; i < indices.size(); ++i) {
      const int64_t index = indices.integer(i), from = index < 0 ? index + size : index;
      if (from < 0 || from >= size) {
        Fail("index " + std::to_string(index) + " is out of range for " + std::to_string(size) + " elements");
      }
      std::memcpy(to, x.as<char>() + (row * size + from) * bytes, static_cast<size_t>(bytes));
      to += bytes;
    }
  }
  return out;
}

Array EvaluateNonZero(const Array& x) {
  std::vector<int64_t> found;
  for (int64_t i = 0; i < x.size(); ++i) {
    if (x.number(i) != 0) found.push_back(i);
  }
  const auto count = static_cast<int64_t>(found.size());
  Array out = Array::New(DType::kI64, {x.rank(), count});
  auto* to = out.fill<int64_t>();
  const Strides strides = DenseStrides(x.shape());
  for (int axis = 0; axis < x.rank(); ++axis) {
    const auto at = static_cast<size_t>(axis);
    for (int64_t index : found) *to++ = index / strides[at] % x.shape()[at];
  }
  return out;
}

Array EvaluateIota(const std::vector<int64_t>& shape, int64_t axis, DType dtype) {
  Array out = Array::New(dtype, shape);
  Strides strides(shape.size(), 0);
  strides[static_cast<size_t>(axis)] = 1;
  ForEachElement(shape, std::array<Strides, 1>{strides}, [&](int64_t i, const auto& at) { out.set_integer(i, at[0]); });
  return out;
}

}  // namespace tailor::frontend
