// Sources of an artifact's bytes: a file or the host's memory. The reader copies the parts that it checks and takes the
// constants as ReadOnlyBytes, which map, borrow or own them.
#ifndef TAILOR_SERIALIZATION_SOURCE_H_
#define TAILOR_SERIALIZATION_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "exec/failure.h"
#include "serialization/aligned_bytes.h"

namespace tailor {

// A mapped file and its size and modification time when it was mapped. Owns a duplicate descriptor.
class MappedFile {
 public:
  MappedFile() = default;  // no file
  // Records the state of the open `file`; messages name `path`. FAILED_PRECONDITION if fstat fails.
  static Failure Of(int file, const std::string& path, MappedFile* out);
  MappedFile(MappedFile&& other) noexcept { *this = std::move(other); }
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  // FAILED_PRECONDITION naming the file if its size or modification time changed. A rename over the path has no effect:
  // the mapping keeps the old file.
  Failure CheckUnchanged() const;

 private:
  int file_ = -1;
  std::string path_;
  int64_t size_ = 0;                       // bytes
  int64_t seconds_ = 0, nanoseconds_ = 0;  // modification time
};

// Read-only bytes, 64-byte aligned: owned, mapped (unmapped on destruction), or borrowed.
class ReadOnlyBytes {
 public:
  ReadOnlyBytes() = default;
  explicit ReadOnlyBytes(AlignedBytes owned) : owned_(std::move(owned)), bytes_(owned_.span()) {}
  static ReadOnlyBytes Mapping(std::span<const std::byte> bytes, MappedFile file);
  static ReadOnlyBytes Borrowed(std::span<const std::byte> bytes);
  ReadOnlyBytes(ReadOnlyBytes&& other) noexcept { *this = std::move(other); }
  ReadOnlyBytes& operator=(ReadOnlyBytes&& other) noexcept;
  ~ReadOnlyBytes();

  std::span<const std::byte> bytes() const { return bytes_; }
  // FAILED_PRECONDITION if the mapped file was written to since; such a write also changes the bytes.
  Failure CheckUnchanged() const { return file_.CheckUnchanged(); }

 private:
  AlignedBytes owned_;
  MappedFile file_;
  std::span<const std::byte> bytes_;
  bool mapped_ = false;
};

class Source {
 public:
  virtual ~Source() = default;
  virtual uint64_t size() const = 0;
  // Copies bytes [offset, offset + to.size()), which lie within size().
  virtual Failure Read(uint64_t offset, std::span<std::byte> to) const = 0;
  // Read without a copy if possible and `copy` is false. `offset` is a multiple of kConstantsAlignment.
  virtual Failure Take(uint64_t offset, uint64_t size, bool copy, ReadOnlyBytes* out) const = 0;
};

class FileSource : public Source {
 public:
  FileSource() = default;
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;
  ~FileSource() override;
  // NOT_FOUND naming the path if there is no such file.
  Failure Open(std::string path);
  uint64_t size() const override { return size_; }
  Failure Read(uint64_t offset, std::span<std::byte> to) const override;
  Failure Take(uint64_t offset, uint64_t size, bool copy, ReadOnlyBytes* out) const override;

 private:
  std::string path_;
  int file_ = -1;
  uint64_t size_ = 0;
};

// `bytes` stay the caller's; regions taken without a copy point into them.
class MemorySource : public Source {
 public:
  explicit MemorySource(std::span<const std::byte> bytes) : bytes_(bytes) {}
  uint64_t size() const override { return bytes_.size(); }
  Failure Read(uint64_t offset, std::span<std::byte> to) const override;
  // Also copies if `bytes` are not 64-byte aligned.
  Failure Take(uint64_t offset, uint64_t size, bool copy, ReadOnlyBytes* out) const override;

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace tailor

#endif  // TAILOR_SERIALIZATION_SOURCE_H_
