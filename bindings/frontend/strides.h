// Iteration over dense and broadcast arrays.
#ifndef TAILOR_BINDINGS_FRONTEND_STRIDES_H_
#define TAILOR_BINDINGS_FRONTEND_STRIDES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tailor::frontend {

using Strides = std::vector<int64_t>;  // in elements

inline Strides DenseStrides(const std::vector<int64_t>& shape) {
  Strides strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    __builtin_mul_overflow(stride, shape[i], &stride);  // wraps only where there are no elements
  }
  return strides;
}

// The strides of an array of `shape` that broadcasts to `rank` dims: 0 where its dim is 1 or absent.
inline Strides BroadcastStrides(const std::vector<int64_t>& shape, size_t rank) {
  const Strides dense = DenseStrides(shape);
  Strides strides(rank, 0);
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != 1) strides[rank - shape.size() + i] = dense[i];
  }
  return strides;
}

// Calls visit(i, offsets) for each element i of `shape` in row-major order; offsets[k] is its offset by strides[k].
template <size_t kCount, typename Visit>
void ForEachElement(const std::vector<int64_t>& shape, const std::array<Strides, kCount>& strides, Visit visit) {
  for (int64_t dim : shape) {
    if (dim == 0) return;
  }
  std::array<int64_t, kCount> offsets{};
  std::vector<int64_t> index(shape.size(), 0);
  for (int64_t i = 0;; ++i) {
    visit(i, offsets);
    size_t axis = shape.size();
    while (axis-- > 0) {
      for (size_t k = 0; k < kCount; ++k) offsets[k] += strides[k][axis];
      if (++index[axis] < shape[axis]) break;
      for (size_t k = 0; k < kCount; ++k) offsets[k] -= strides[k][axis] * shape[axis];
      index[axis] = 0;
    }
    if (axis == SIZE_MAX) return;
  }
}

}  // namespace tailor::frontend

#endif  // TAILOR_BINDINGS_FRONTEND_STRIDES_H_
