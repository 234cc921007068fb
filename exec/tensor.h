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
  int64_t device;          // location of data: kHostMemory or kDeviceMemory
};

inline constexpr int64_t kHostMemory = 0;
inline constexpr int64_t kDeviceMemory = 1;  // memory of the executable's device

// The part that all callers' tensors have; in the earliest header the struct ends before `device`.
inline constexpr size_t kLeastTensorBytes = offsetof(Tensor, device);

// An array of T (Tensor or const Tensor) whose elements are `stride` bytes apart, at least kLeastTensorBytes: callers
// built against a later header have larger elements. Elements are read field by field, never as a whole.
template <typename T>
class Strided {
 public:
  Strided() = default;
  Strided(T* first, size_t count, size_t stride)
      : first_(reinterpret_cast<uintptr_t>(first)), count_(count), stride_(stride) {}
  size_t size() const { return count_; }
  T& operator[](size_t i) const { return *reinterpret_cast<T*>(first_ + i * stride_); }
  bool has_device() const { return stride_ >= offsetof(Tensor, device) + sizeof(Tensor::device); }
  int64_t device(size_t i) const { return has_device() ? (*this)[i].device : kHostMemory; }

 private:
  uintptr_t first_ = 0;
  size_t count_ = 0;
  size_t stride_ = 0;
};

using InputList = Strided<const Tensor>;
using OutputList = Strided<Tensor>;

}  // namespace tailor

#endif  // TAILOR_EXEC_TENSOR_H_
