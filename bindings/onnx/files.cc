#include "bindings/onnx/files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "bindings/frontend/error.h"

namespace tailor::onnx {
MappedFile MapFile(const std::string& path, const std::string& what, bool no_links) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | (no_links ? O_NOFOLLOW : 0));
  if (descriptor < 0) {
    const int32_t code = errno == ENOENT && !no_links ? TAILOR_NOT_FOUND : TAILOR_INVALID_ARGUMENT;
    throw frontend::Error(code, what + ": " + std::strerror(errno));
  }
  struct stat status;
  if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(descriptor);
    frontend::Fail(what + " is not a regular file");
  }
  const auto size = static_cast<size_t>(status.st_size);
  if (size == 0) {
    close(descriptor);
    return {};
  }
  void* memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  const int failure = errno;
  close(descriptor);
  if (memory == MAP_FAILED) frontend::Fail(what + ": " + std::strerror(failure));
  const std::shared_ptr<const void> owner(memory, [size](const void* data) { munmap(const_cast<void*>(data), size); });
  return {owner, {static_cast<const char*>(memory), size}, true};
}

MappedFile PartOf(const MappedFile& file, std::string_view bytes) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto start = reinterpret_cast<uintptr_t>(bytes.data());
  const uintptr_t first = (start + page - 1) / page * page, last = (start + bytes.size()) / page * page;
  if (!file.mapped || first >= last) return {file.owner, bytes};
  const auto release = [owner = file.owner, first, last](const void*) {
    madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);  // pages of a file: nothing is lost
  };
  return {std::shared_ptr<const void>(bytes.data(), release), bytes};
}

}  // namespace tailor::onnx
