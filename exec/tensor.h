// Tensors as callers describe them: the memory layout of tailor_tensor, so that arrays pass through uncopied.
#ifndef TAILOR_EXEC_TENSOR_H_
#define TAILOR_EXEC_TENSOR_H_

#include <cstddef>
#include <cstdint>

#include "graph/dtype.h"

namespace tailor {

struct Tensor {
  uint64_t struct_size;
  void* data;
  uint64_t data_bytes;
  int32_t dtype;
  int32_t rank;
  int64_t dims[kMaxRank];
  const int64_t* strides;  // in elements; null: dense
};

// An array of T (Tensor or const Tensor) whose elements lie `stride` bytes apart: a caller built against a later
// header has larger ones.
template <typename T>
class Strided {
 public:
  Strided() = default;
  Strided(T* first, size_t count, size_t stride)
      : first_(reinterpret_cast<uintptr_t>(first)), count_(count), stride_(stride) {}
  size_t size() const { return count_; }
  T& operator[](size_t i) const { return *reinterpret_cast<T*>(first_ + i * stride_); }

 private:
  uintptr_t first_ = 0;
  size_t count_ = 0;
  size_t stride_ = 0;
};

using InputList = Strided<const Tensor>;
using OutputList = Strided<Tensor>;

}  // namespace tailor

#endif  // TAILOR_EXEC_TENSOR_H_
