#include "tools/tailor/npz_file.h"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include "tailor/runtime.h"
#include "tools/tailor/failures.h"

namespace tailor {
namespace {

// Records of APPNOTE.TXT, the zip format: their signatures and sizes without what is of variable length.
constexpr char kDirectoryEnd[] = "PK\x05\x06", kEnd64[] = "PK\x06\x06", kEnd64Place[] = "PK\x06\x07";
constexpr char kDirectoryEntry[] = "PK\x01\x02", kLocalHeader[] = "PK\x03\x04";
constexpr uint64_t kEndBytes = 22, kEnd64Bytes = 56, kEnd64PlaceBytes = 20, kEntryBytes = 46, kLocalBytes = 30;
constexpr uint64_t kMostComment = 65535;
constexpr uint16_t kExtra64 = 1;       // extra field: those sizes and offsets that do not fit 32 bits
constexpr uint64_t kMostRatio = 1032;  // of deflate

// A little endian number of `bytes` bytes; the caller has checked that they are there.
uint64_t Number(const std::string& text, uint64_t at, int bytes) {
  uint64_t value = 0;
  for (int i = bytes - 1; i >= 0; --i) value = value << 8 | static_cast<uint8_t>(text[at + static_cast<uint64_t>(i)]);
  return value;
}

bool Begins(const std::string& text, uint64_t at, const char* signature) { return text.compare(at, 4, signature) == 0; }

// The bytes of a raw deflate stream; false where they are not exactly `size`.
bool Inflate(const std::string& compressed, uint64_t size, std::string* out) {
  out->assign(size, '\0');
  z_stream stream = {};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return false;
  uint64_t read = 0, written = 0;
  int result = Z_OK;
  char beyond = 0;  // receives the next byte of a stream that is longer than `size`
  while (result == Z_OK) {
    constexpr uint64_t kPart = std::numeric_limits<uInt>::max() / 2;
    const bool full = written == size;
    const uint64_t in = std::min(kPart, compressed.size() - read), room = full ? 1 : std::min(kPart, size - written);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(compressed.data() + read));
    stream.avail_in = static_cast<uInt>(in);
    stream.next_out = reinterpret_cast<Bytef*>(full ? &beyond : out->data() + written);
    stream.avail_out = static_cast<uInt>(room);
    result = inflate(&stream, Z_NO_FLUSH);
    read += in - stream.avail_in;
    if (full && stream.avail_out == 0) {
      result = Z_DATA_ERROR;
    } else {
      written += room - stream.avail_out;
    }
  }
  inflateEnd(&stream);
  return result == Z_STREAM_END && written == size;
}

}  // namespace

void NpzFile::Fail(const std::string& problem) const { throw FileError(TAILOR_DATA_LOSS, path_ + ": " + problem); }

std::string NpzFile::Bytes(uint64_t offset, uint64_t size) {
  if (offset > file_size_ || size > file_size_ - offset) Fail("the archive is damaged: a part lies beyond its end");
  std::string bytes(size, '\0');
  in_.seekg(static_cast<std::streamoff>(offset));
  in_.read(bytes.data(), static_cast<std::streamsize>(size));
  if (!in_) Fail("cannot be read");
  return bytes;
}

NpzFile::NpzFile(const std::string& path) : path_(path), in_(path, std::ios::binary | std::ios::ate) {
  if (!in_.is_open()) FailToRead(path, errno);
  const std::streamoff end_offset = in_.tellg();
  if (end_offset < 0 || end_offset == std::numeric_limits<std::streamoff>::max()) Fail("is no .npz file");
  file_size_ = static_cast<uint64_t>(end_offset);
  const uint64_t tail_at = file_size_ - std::min(file_size_, kEndBytes + kMostComment);
  const std::string tail = Bytes(tail_at, file_size_ - tail_at);
  const size_t end = tail.rfind(std::string(kDirectoryEnd, 4), tail.size() < kEndBytes ? 0 : tail.size() - kEndBytes);
  if (tail.size() < kEndBytes || end == std::string::npos) Fail("is no .npz file");
  uint64_t count = Number(tail, end + 10, 2), size = Number(tail, end + 12, 4), offset = Number(tail, end + 16, 4);
  if (count == 0xffff || size == 0xffffffff || offset == 0xffffffff) {
    if (tail_at + end < kEnd64PlaceBytes) Fail("the archive is damaged: its 64-bit end is missing");
    const std::string place = Bytes(tail_at + end - kEnd64PlaceBytes, kEnd64PlaceBytes);
    if (!Begins(place, 0, kEnd64Place)) Fail("the archive is damaged: its 64-bit end is missing");
    const std::string end64 = Bytes(Number(place, 8, 8), kEnd64Bytes);
    if (!Begins(end64, 0, kEnd64)) Fail("the archive is damaged: its 64-bit end is missing");
    count = Number(end64, 32, 8), size = Number(end64, 40, 8), offset = Number(end64, 48, 8);
  }
  ReadDirectory(Bytes(offset, size), count);
}

void NpzFile::ReadDirectory(const std::string& directory, uint64_t count) {
  const auto check = [&](bool holds) {
    if (!holds) Fail("the archive is damaged: its directory has the wrong size");
  };
  uint64_t at = 0;
  for (uint64_t i = 0; i < count; ++i) {
    check(directory.size() - at >= kEntryBytes && Begins(directory, at, kDirectoryEntry));
    Entry entry = {static_cast<uint16_t>(Number(directory, at + 8, 2)),
                   static_cast<uint16_t>(Number(directory, at + 10, 2)),
                   static_cast<uint32_t>(Number(directory, at + 16, 4)),
                   Number(directory, at + 20, 4),
                   Number(directory, at + 24, 4),
                   Number(directory, at + 42, 4)};
    const uint64_t name_size = Number(directory, at + 28, 2), extra_size = Number(directory, at + 30, 2);
    const uint64_t comment_size = Number(directory, at + 32, 2);
    at += kEntryBytes;
    check(directory.size() - at >= name_size + extra_size + comment_size);
    std::string name = directory.substr(at, name_size);
    const uint64_t extra_end = at + name_size + extra_size;
    for (uint64_t extra = at + name_size; extra_end - extra >= 4;) {
      const uint64_t field_size = Number(directory, extra + 2, 2);
      const bool is_64 = Number(directory, extra, 2) == kExtra64;
      extra += 4;
      check(extra_end - extra >= field_size);
      uint64_t value = extra;
      for (uint64_t* number : {&entry.size, &entry.compressed, &entry.offset}) {
        if (!is_64 || *number != 0xffffffff) continue;
        check(extra + field_size - value >= 8);
        *number = Number(directory, value, 8);
        value += 8;
      }
      extra += field_size;
    }
    at = extra_end + comment_size;
    constexpr std::string_view kSuffix = ".npy";
    if (!name.ends_with(kSuffix)) continue;
    name.resize(name.size() - kSuffix.size());
    if (!entries_.emplace(name, entry).second) Fail("it holds " + name + ".npy twice");
  }
}

std::vector<std::string> NpzFile::Names() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : entries_) names.push_back(name);
  return names;
}

NamedTensor NpzFile::Read(const std::string& name) {
  const Entry& entry = entries_.at(name);
  const std::string place = path_ + ": " + name + ".npy";
  const auto fail = [&](const std::string& problem) { throw FileError(TAILOR_DATA_LOSS, place + " " + problem); };
  if (entry.flags & 1) fail("is encrypted");
  if (entry.method != 0 && entry.method != Z_DEFLATED) {
    fail("is compressed by method " + std::to_string(entry.method) + ", expected stored or deflated");
  }
  const std::string local = Bytes(entry.offset, kLocalBytes);
  if (!Begins(local, 0, kLocalHeader)) fail("is damaged");
  std::string bytes = Bytes(entry.offset + kLocalBytes + Number(local, 26, 2) + Number(local, 28, 2), entry.compressed);
  if (entry.method == Z_DEFLATED) {
    std::string inflated;
    // Before allocation: deflate cannot expand that few bytes to that many.
    if (entry.size / kMostRatio > bytes.size() || !Inflate(bytes, entry.size, &inflated)) fail("is damaged");
    bytes = std::move(inflated);
  }
  if (bytes.size() != entry.size ||
      crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()) != entry.crc) {
    fail("is damaged");
  }
  NamedTensor tensor = ParseNpy(bytes, place);
  tensor.name = name;
  return tensor;
}

}  // namespace tailor
