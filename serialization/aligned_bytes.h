// AlignedBytes: owned memory with the alignment of constants and images, 64 bytes. Contents start undefined. Blocks of
// 4 MiB and more ask for huge pages: on 4 KiB pages, reading the same weights took up to 1.15 times as long in one
// process as in another.
#ifndef TAILOR_SERIALIZATION_ALIGNED_BYTES_H_
#define TAILOR_SERIALIZATION_ALIGNED_BYTES_H_

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>

namespace tailor {

class AlignedBytes {
 public:
  AlignedBytes() = default;
  // Throws std::bad_alloc.
  explicit AlignedBytes(size_t size) : data_(Allocate(size)), size_(size) {}

  std::byte* data() { return data_.get(); }
  const std::byte* data() const { return data_.get(); }
  size_t size() const { return size_; }
  std::span<std::byte> span() { return {data_.get(), size_}; }
  std::span<const std::byte> span() const { return {data_.get(), size_}; }

 private:
  struct Free {
    void operator()(std::byte* data) const { std::free(data); }
  };

  static std::byte* Allocate(size_t size) {
    constexpr size_t kAlignment = 64, kHugePage = 2 * 1024 * 1024;
    const bool is_large = size >= 2 * kHugePage;
    void* data = nullptr;
    if (posix_memalign(&data, is_large ? kHugePage : kAlignment, size) != 0) throw std::bad_alloc();
    if (is_large) madvise(data, size / kHugePage * kHugePage, MADV_HUGEPAGE);
    return static_cast<std::byte*>(data);
  }

  std::unique_ptr<std::byte, Free> data_;
  size_t size_ = 0;
};

}  // namespace tailor

#endif  // TAILOR_SERIALIZATION_ALIGNED_BYTES_H_
