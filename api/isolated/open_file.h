// OpenFile: an owned file descriptor, and complete reads and writes.
#ifndef TAILOR_API_ISOLATED_OPEN_FILE_H_
#define TAILOR_API_ISOLATED_OPEN_FILE_H_

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <utility>

namespace tailor::isolated {

// Closed on destruction.
class OpenFile {
 public:
  OpenFile() = default;
  explicit OpenFile(int number) : number_(number) {}
  OpenFile(OpenFile&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  OpenFile& operator=(OpenFile&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~OpenFile() {
    if (number_ >= 0) close(number_);
  }
  int number() const { return number_; }
  bool open() const { return number_ >= 0; }
  void Close() { *this = OpenFile(); }

 private:
  int number_ = -1;
};

// False, with errno, if not all bytes could be written.
inline bool WriteAll(int file, const void* data, size_t size) {
  const char* from = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = write(file, from, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    from += written;
    size -= static_cast<size_t>(written);
  }
  return true;
}

// False at the end of the file, or, with errno, if it cannot be read.
inline bool ReadAll(int file, void* data, size_t size) {
  errno = 0;
  char* to = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t got = read(file, to, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got;
    size -= static_cast<size_t>(got);
  }
  return true;
}

}  // namespace tailor::isolated

#endif  // TAILOR_API_ISOLATED_OPEN_FILE_H_
