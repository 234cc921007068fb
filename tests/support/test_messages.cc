#include "tests/support/test_messages.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace tailor {
namespace {

bool WriteAll(int fd, const void* data, size_t size) {
  const auto* next = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = write(fd, next, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    next += written;
    size -= static_cast<size_t>(written);
  }
  return true;
}

bool ReadAll(int fd, void* data, size_t size) {
  auto* next = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t got = read(fd, next, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    next += got;
    size -= static_cast<size_t>(got);
  }
  return true;
}

}  // namespace

void TestMessage::Put(int64_t number) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&number);
  bytes_.insert(bytes_.end(), bytes, bytes + sizeof number);
}

void TestMessage::Put(std::span<const std::byte> bytes) {
  Put(static_cast<int64_t>(bytes.size()));
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
}

void TestMessage::Put(const absl::Status& status) {
  Put(static_cast<int64_t>(status.code()));
  Put(std::string(status.message()));
}

void TestMessage::Put(const std::vector<HostTensor>& tensors) {
  Put(static_cast<int64_t>(tensors.size()));
  for (const HostTensor& tensor : tensors) {
    Put(static_cast<int64_t>(tensor.dtype));
    Put(static_cast<int64_t>(tensor.dims.size()));
    for (const int64_t dim : tensor.dims) Put(dim);
    Put(std::span(tensor.bytes));
  }
}

int64_t TestMessage::Number() {
  int64_t number;
  if (bytes_.size() - taken_ < sizeof number) abort();
  std::memcpy(&number, bytes_.data() + taken_, sizeof number);
  taken_ += sizeof number;
  return number;
}

std::vector<std::byte> TestMessage::Bytes() {
  const auto size = static_cast<size_t>(Number());
  if (bytes_.size() - taken_ < size) abort();
  const auto first = bytes_.begin() + static_cast<ptrdiff_t>(taken_);
  taken_ += size;
  return {first, first + static_cast<ptrdiff_t>(size)};
}

std::string TestMessage::Text() {
  const std::vector<std::byte> bytes = Bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

absl::Status TestMessage::Status() {
  const auto code = static_cast<absl::StatusCode>(Number());
  return absl::Status(code, Text());
}

std::vector<HostTensor> TestMessage::Tensors() {
  std::vector<HostTensor> tensors(static_cast<size_t>(Number()));
  for (HostTensor& tensor : tensors) {
    tensor.dtype = static_cast<DType>(Number());
    tensor.dims.resize(static_cast<size_t>(Number()));
    for (int64_t& dim : tensor.dims) dim = Number();
    tensor.bytes = Bytes();
  }
  return tensors;
}

bool TestMessage::SendTo(int fd) const {
  const auto size = static_cast<int64_t>(bytes_.size());
  return WriteAll(fd, &size, sizeof size) && WriteAll(fd, bytes_.data(), bytes_.size());
}

bool TestMessage::ReceiveFrom(int fd) {
  int64_t size = 0;
  if (!ReadAll(fd, &size, sizeof size)) return false;
  bytes_.resize(static_cast<size_t>(size));
  taken_ = 0;
  return ReadAll(fd, bytes_.data(), bytes_.size());
}

}  // namespace tailor
