#include "exec/memory.h"

#include <sys/mman.h>

#include <cstdlib>
#include <utility>

#include "exec/counters.h"
#include "exec/output_pool.h"

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

MemoryBlock AllocateBlock(const Allocator& allocator, uint64_t bytes) {
  void* data = allocator.allocate != nullptr ? allocator.allocate(allocator.user, bytes, kBufferAlignment)
                                             : AllocateFromLibc(bytes);
  return data != nullptr ? MemoryBlock{static_cast<uint8_t*>(data), bytes} : MemoryBlock{};
}

void FreeBlock(const Allocator& allocator, MemoryBlock block) {
  if (allocator.deallocate != nullptr) {
    allocator.deallocate(allocator.user, block.data, block.size);
  } else {
    std::free(block.data);
  }
}

void CountGrowth(MemoryCounters* counters) {
  CountWorkspaceGrowth();
  if (counters != nullptr) counters->growths.fetch_add(1, std::memory_order_relaxed);
}

GrowingBuffer::GrowingBuffer(GrowingBuffer&& other) noexcept
    : allocator_(other.allocator_),
      pool_(other.pool_),
      counters_(other.counters_),
      block_(std::exchange(other.block_, {})) {}

bool GrowingBuffer::Grow(uint64_t bytes) {
  if (bytes <= block_.size) return true;
  const uint64_t outgrown = block_.size;
  Release(/*keep=*/false);
  const MemoryBlock block = pool_ != nullptr ? pool_->Allocate(bytes, outgrown) : AllocateBlock(*allocator_, bytes);
  if (block.data == nullptr) return false;
  block_ = block;
  if (pool_ == nullptr) CountGrowth(counters_);
  if (counters_ != nullptr) counters_->bytes.fetch_add(block.size, std::memory_order_relaxed);
  return true;
}

// To the pool, if there is one; with `keep` for later runs.
void GrowingBuffer::Release(bool keep) {
  if (block_.data == nullptr) return;
  const MemoryBlock block = std::exchange(block_, {});
  if (counters_ != nullptr) counters_->bytes.fetch_sub(block.size, std::memory_order_relaxed);
  if (pool_ == nullptr) return FreeBlock(*allocator_, block);
  keep ? pool_->Free(block) : pool_->Discard(block);
}

void GrowingBuffer::Swap(GrowingBuffer& other) {
  std::swap(allocator_, other.allocator_);
  std::swap(pool_, other.pool_);
  std::swap(counters_, other.counters_);
  std::swap(block_, other.block_);
}

uint64_t TotalBytes(const std::vector<GrowingBuffer>& buffers) {
  uint64_t bytes = 0;
  for (const GrowingBuffer& buffer : buffers) bytes += buffer.size();
  return bytes;
}

void GrowingBuffer::StopCounting() {
  if (counters_ != nullptr) counters_->bytes.fetch_sub(block_.size, std::memory_order_relaxed);
  counters_ = nullptr;
}

}  // namespace tailor
