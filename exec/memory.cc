#include "exec/memory.h"

#include <sys/mman.h>

#include <cstdlib>
#include <utility>

#include "exec/counters.h"

namespace tailor {
namespace {

constexpr size_t kHugePage = 2 * 1024 * 1024;

// Large buffers are aligned to huge pages and request them, to reduce TLB misses.
void* AllocateFromLibc(size_t bytes) {
  const bool large = bytes >= 2 * kHugePage;
  void* data = nullptr;
  if (posix_memalign(&data, large ? kHugePage : kBufferAlignment, bytes) != 0) return nullptr;
  if (large) madvise(data, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
  return data;
}

}  // namespace

void* EmptyTensorData() {
  alignas(kBufferAlignment) static uint8_t empty[kBufferAlignment];
  return empty;
}

GrowingBuffer::GrowingBuffer(GrowingBuffer&& other) noexcept
    : allocator_(other.allocator_),
      counters_(other.counters_),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

bool GrowingBuffer::Grow(uint64_t bytes) {
  if (bytes <= size_) return true;
  Free();
  void* data = allocator_->allocate != nullptr ? allocator_->allocate(allocator_->user, bytes, kBufferAlignment)
                                               : AllocateFromLibc(bytes);
  if (data == nullptr) return false;
  data_ = static_cast<uint8_t*>(data);
  size_ = bytes;
  CountWorkspaceGrowth();
  if (counters_ != nullptr) {
    counters_->growths.fetch_add(1, std::memory_order_relaxed);
    counters_->bytes.fetch_add(bytes, std::memory_order_relaxed);
  }
  return true;
}

void GrowingBuffer::Free() {
  if (data_ == nullptr) return;
  if (allocator_->deallocate != nullptr) {
    allocator_->deallocate(allocator_->user, data_, size_);
  } else {
    std::free(data_);
  }
  if (counters_ != nullptr) counters_->bytes.fetch_sub(size_, std::memory_order_relaxed);
  data_ = nullptr;
  size_ = 0;
}

uint64_t TotalBytes(const std::vector<GrowingBuffer>& buffers) {
  uint64_t bytes = 0;
  for (const GrowingBuffer& buffer : buffers) bytes += buffer.size();
  return bytes;
}

void GrowingBuffer::StopCounting() {
  if (counters_ != nullptr) counters_->bytes.fetch_sub(size_, std::memory_order_relaxed);
  counters_ = nullptr;
}

}  // namespace tailor
