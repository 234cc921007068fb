// A constant tensor while a graph is built: dense, row-major, in memory that it shares.
#ifndef TAILOR_BINDINGS_FRONTEND_ARRAY_H_
#define TAILOR_BINDINGS_FRONTEND_ARRAY_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "graph/dtype.h"

namespace tailor::frontend {

// Immutable, except right after New(). Copies share the elements.
class Array {
 public:
  Array() = default;
  // `size` elements at `data`, aligned to their type and alive as long as `owner`.
  Array(DType dtype, std::vector<int64_t> shape, std::shared_ptr<const void> owner, const void* data);
  // Zeros. Throws std::bad_alloc, or Error for more than 2^60 elements.
  static Array New(DType dtype, std::vector<int64_t> shape);
  static Array Scalar(DType dtype, double value);  // rounded as a cast rounds
  static Array Integer(DType dtype, int64_t value, std::vector<int64_t> shape = {});
  static Array Integers(const std::vector<int64_t>& values, DType dtype = DType::kI64);
  static Array Floats(const std::vector<float>& values, std::vector<int64_t> shape);

  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  int rank() const { return static_cast<int>(shape_.size()); }
  int64_t size() const { return size_; }
  size_t bytes() const { return static_cast<size_t>(size_) * static_cast<size_t>(SizeOf(dtype_)); }
  const void* data() const { return data_; }
  const std::shared_ptr<const void>& owner() const { return owner_; }
  template <typename T>
  const T* as() const {
    return static_cast<const T*>(data_);
  }
  template <typename T>
  T* fill() {  // for the maker of a New() array
    return static_cast<T*>(const_cast<void*>(data_));
  }

  // Element `index` in row-major order. Integers beyond i64 wrap; true is 1.
  int64_t integer(int64_t index) const;  // of a bool or integer array
  double number(int64_t index) const;
  void set(int64_t index, double value);  // converts as a cast does; for the maker of a New() array
  void set_integer(int64_t index, int64_t value);
  void NormalizeBools();  // a bool array's elements that are not 0 become 1; for the maker of a New() array

  Array Reshaped(std::vector<int64_t> shape) const;  // as many elements

 private:
  DType dtype_ = DType::kInvalid;
  std::vector<int64_t> shape_;
  int64_t size_ = 0;
  std::shared_ptr<const void> owner_;
  const void* data_ = nullptr;
};

// The number of elements of a shape. Throws Error for more than 2^60.
int64_t CountOf(const std::vector<int64_t>& shape);

}  // namespace tailor::frontend

#endif  // TAILOR_BINDINGS_FRONTEND_ARRAY_H_
