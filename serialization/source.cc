#include "serialization/source.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "serialization/layout.h"

namespace tailor {
namespace {

std::string Reason(int error) { return std::generic_category().message(error); }

}  // namespace

Failure MappedFile::Of(int file, const std::string& path, MappedFile* out) {
  struct stat status;
  MappedFile mapped;
  mapped.file_ = fcntl(file, F_DUPFD_CLOEXEC, 0);
  if (mapped.file_ < 0 || fstat(mapped.file_, &status) != 0) {
    return {Code::kFailedPrecondition, "cannot keep " + path + " open: " + Reason(errno), ""};
  }
  mapped.path_ = path;
  mapped.size_ = status.st_size;
  mapped.seconds_ = status.st_mtim.tv_sec;
  mapped.nanoseconds_ = status.st_mtim.tv_nsec;
  *out = std::move(mapped);
  return {};
}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(path_, other.path_);
  std::swap(size_, other.size_);
  std::swap(seconds_, other.seconds_);
  std::swap(nanoseconds_, other.nanoseconds_);
  return *this;
}

MappedFile::~MappedFile() {
  if (file_ >= 0) close(file_);
}

Failure MappedFile::CheckUnchanged() const {
  if (file_ < 0) return {};
  struct stat status;
  if (fstat(file_, &status) != 0) {
    return {Code::kFailedPrecondition, "cannot stat " + path_ + ": " + Reason(errno), ""};
  }
  const bool same =
      status.st_size == size_ && status.st_mtim.tv_sec == seconds_ && status.st_mtim.tv_nsec == nanoseconds_;
  if (same) return {};
  return {
      Code::kFailedPrecondition,
      path_ +
          " was written to after it was loaded, which changes the constants of the executable; replace such files by "
          "renaming, or load with copy_constants",
      ""};
}

ReadOnlyBytes ReadOnlyBytes::Mapping(std::span<const std::byte> bytes, MappedFile file) {
  ReadOnlyBytes region;
  region.file_ = std::move(file);
  region.bytes_ = bytes;
  region.mapped_ = true;
  return region;
}

ReadOnlyBytes ReadOnlyBytes::Borrowed(std::span<const std::byte> bytes) {
  ReadOnlyBytes region;
  region.bytes_ = bytes;
  return region;
}

ReadOnlyBytes& ReadOnlyBytes::operator=(ReadOnlyBytes&& other) noexcept {
  std::swap(owned_, other.owned_);
  std::swap(file_, other.file_);
  std::swap(bytes_, other.bytes_);
  std::swap(mapped_, other.mapped_);
  return *this;
}

ReadOnlyBytes::~ReadOnlyBytes() {
  if (mapped_) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

FileSource::~FileSource() {
  if (file_ >= 0) close(file_);
}

Failure FileSource::Open(std::string path) {
  path_ = std::move(path);
  file_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // do not wait for a pipe's writer
  if (file_ < 0) {
    const Code code = errno == ENOENT || errno == ENOTDIR ? Code::kNotFound : Code::kFailedPrecondition;
    return {code, "cannot open " + path_ + ": " + Reason(errno), ""};
  }
  struct stat status;
  if (fstat(file_, &status) != 0) {
    return {Code::kFailedPrecondition, "cannot stat " + path_ + ": " + Reason(errno), ""};
  }
  if (!S_ISREG(status.st_mode)) return {Code::kInvalidArgument, path_ + " is not a regular file", ""};
  size_ = static_cast<uint64_t>(status.st_size);
  return {};
}

Failure FileSource::Read(uint64_t offset, std::span<std::byte> to) const {
  while (!to.empty()) {
    const ssize_t got = pread(file_, to.data(), to.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return {Code::kDataLoss, "cannot read " + path_ + ": " + Reason(errno), ""};
    if (got == 0) return {Code::kDataLoss, path_ + " was shortened while it was read", ""};
    offset += static_cast<uint64_t>(got);
    to = to.subspan(static_cast<size_t>(got));
  }
  return {};
}

Failure FileSource::Take(uint64_t offset, uint64_t size, bool copy, ReadOnlyBytes* out) const {
  if (copy) {
    AlignedBytes owned(size);
    if (Failure f = Read(offset, owned.span()); !f.ok()) return f;
    *out = ReadOnlyBytes(std::move(owned));
    return {};
  }
  MappedFile mapped;
  if (Failure f = MappedFile::Of(file_, path_, &mapped); !f.ok()) return f;
  void* map = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file_, static_cast<off_t>(offset));
  if (map == MAP_FAILED) return {Code::kResourceExhausted, "cannot map " + path_ + ": " + Reason(errno), ""};
  *out = ReadOnlyBytes::Mapping({static_cast<const std::byte*>(map), size}, std::move(mapped));
  return {};
}

Failure MemorySource::Read(uint64_t offset, std::span<std::byte> to) const {
  std::memcpy(to.data(), bytes_.data() + offset, to.size());
  return {};
}

Failure MemorySource::Take(uint64_t offset, uint64_t size, bool copy, ReadOnlyBytes* out) const {
  const auto bytes = bytes_.subspan(offset, size);
  if (!copy && reinterpret_cast<uintptr_t>(bytes.data()) % kItemAlignment == 0) {
    *out = ReadOnlyBytes::Borrowed(bytes);
    return {};
  }
  AlignedBytes owned(size);
  std::memcpy(owned.data(), bytes.data(), size);
  *out = ReadOnlyBytes(std::move(owned));
  return {};
}

}  // namespace tailor
