// MappedImage: a variant's machine code, mapped read+execute. Never writable and executable at the same time.
#ifndef TAILOR_EXEC_IMAGE_H_
#define TAILOR_EXEC_IMAGE_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "exec/failure.h"

namespace tailor {

class MappedImage {
 public:
  MappedImage() = default;
  MappedImage(const MappedImage&) = delete;
  MappedImage& operator=(const MappedImage&) = delete;
  ~MappedImage();

  // Copies `code` into new pages and makes them executable. Called once.
  Failure Map(std::span<const std::byte> code);

  // The function at `offset`, which lies within the code.
  template <typename Function>
  Function At(uint64_t offset) const {
    return reinterpret_cast<Function>(reinterpret_cast<uintptr_t>(pages_) + offset);
  }

 private:
  void* pages_ = nullptr;
  size_t size_ = 0;
};

}  // namespace tailor

#endif  // TAILOR_EXEC_IMAGE_H_
