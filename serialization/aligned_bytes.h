// AlignedBytes: owned memory with the alignment of constants and images, 64 bytes. Contents start undefined.
#ifndef TAILOR_SERIALIZATION_ALIGNED_BYTES_H_
#define TAILOR_SERIALIZATION_ALIGNED_BYTES_H_

#include <cstddef>
#include <memory>
#include <new>
#include <span>

namespace tailor {

class AlignedBytes {
 public:
  static constexpr std::align_val_t kAlignment{64};

  AlignedBytes() = default;
  // Throws std::bad_alloc.
  explicit AlignedBytes(size_t size) : data_(static_cast<std::byte*>(::operator new(size, kAlignment))), size_(size) {}

  std::byte* data() { return data_.get(); }
  const std::byte* data() const { return data_.get(); }
  size_t size() const { return size_; }
  std::span<std::byte> span() { return {data_.get(), size_}; }
  std::span<const std::byte> span() const { return {data_.get(), size_}; }

 private:
  struct Delete {
    void operator()(std::byte* data) const { ::operator delete(data, kAlignment); }
  };
  std::unique_ptr<std::byte, Delete> data_;
  size_t size_ = 0;
};

}  // namespace tailor

#endif  // TAILOR_SERIALIZATION_ALIGNED_BYTES_H_
