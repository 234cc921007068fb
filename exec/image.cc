#include "exec/image.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "exec/counters.h"

namespace tailor {
namespace {

Failure CannotMap(const char* what) {
  return {Code::kResourceExhausted, std::string(what) + ": " + std::generic_category().message(errno), ""};
}

}  // namespace

MappedImage::~MappedImage() {
  if (pages_ != nullptr) munmap(pages_, size_);
}

Failure MappedImage::Map(std::span<const std::byte> code) {
  void* pages = mmap(nullptr, code.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return CannotMap("no memory for the code image");
  pages_ = pages;
  size_ = code.size();
  std::memcpy(pages, code.data(), code.size());
  if (mprotect(pages, code.size(), PROT_READ | PROT_EXEC) != 0) {
    return CannotMap("the system does not allow the code image to be executed");
  }
  CountImageLinked();
  return {};
}

}  // namespace tailor
