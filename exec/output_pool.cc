#include "exec/output_pool.h"

#include <algorithm>

#include "exec/fork.h"

namespace tailor {
namespace {

constexpr uint64_t kGrowth = 8;  // a block that replaces an outgrown one is larger by 1 / kGrowth

}  // namespace

OutputPool::OutputPool(const Allocator& allocator, MemoryCounters* counters)
    : allocator_(allocator), counters_(counters), fork_generation_(ForkGeneration()) {
  kept_.reserve(kMostBlocks);  // Free, which destructors call, allocates nothing
}

// In a child of fork() the lock may be one that no thread will release: then the result holds none.
std::unique_lock<std::mutex> OutputPool::Lock() const {
  return fork_generation_ == ForkGeneration() ? std::unique_lock(mutex_) : std::unique_lock(mutex_, std::try_to_lock);
}

MemoryBlock OutputPool::Allocate(uint64_t bytes, uint64_t outgrown) {
  MemoryBlock block;
  if (const auto lock = Lock(); lock.owns_lock()) {
    if (TakeFitting(bytes, &block)) return block;
    if (TakeOutgrown(bytes, &block)) outgrown = block.size;
  }
  if (block.data != nullptr) FreeBlock(allocator_, block);
  block = AllocateBlock(allocator_, outgrown >= bytes / 2 && outgrown > 0 ? bytes + bytes / kGrowth : bytes);
  if (block.data == nullptr) {
    Trim();
    block = AllocateBlock(allocator_, bytes);
  }
  if (block.data == nullptr) return block;
  CountGrowth(counters_);
  if (const auto lock = Lock(); lock.owns_lock()) {
    used_bytes_ += block.size;
    most_used_bytes_ = std::max(most_used_bytes_, used_bytes_);
  }
  return block;
}

void OutputPool::Free(MemoryBlock block) {
  const auto lock = Lock();
  if (!lock.owns_lock()) return FreeBlock(allocator_, block);
  used_bytes_ -= std::min(used_bytes_, block.size);
  if (closed_ || block.size > most_used_bytes_) return FreeBlock(allocator_, block);
  while (kept_bytes_ + block.size > most_used_bytes_ || kept_.size() == kMostBlocks) FreeBlock(allocator_, TakeKept(0));
  kept_.push_back(block);
  kept_bytes_ += block.size;
  counters_->bytes.fetch_add(block.size, std::memory_order_relaxed);
}

void OutputPool::Discard(MemoryBlock block) {
  if (const auto lock = Lock(); lock.owns_lock()) used_bytes_ -= std::min(used_bytes_, block.size);
  FreeBlock(allocator_, block);
}

void OutputPool::Trim() {
  const auto lock = Lock();
  if (!lock.owns_lock()) return;
  while (!kept_.empty()) FreeBlock(allocator_, TakeKept(kept_.size() - 1));
  most_used_bytes_ = used_bytes_;
}

void OutputPool::Close() {
  if (const auto lock = Lock(); lock.owns_lock()) closed_ = true;
  Trim();
}

uint64_t OutputPool::kept_bytes() const {
  const auto lock = Lock();
  return lock.owns_lock() ? kept_bytes_ : 0;
}

// The smallest kept block that fits, now in use.
bool OutputPool::TakeFitting(uint64_t bytes, MemoryBlock* out) {
  size_t best = kept_.size();
  for (size_t i = 0; i < kept_.size(); ++i) {
    const uint64_t size = kept_[i].size;
    if (size >= bytes && size / 2 <= bytes && (best == kept_.size() || size < kept_[best].size)) best = i;
  }
  if (best == kept_.size()) return false;
  *out = TakeKept(best);
  used_bytes_ += out->size;
  most_used_bytes_ = std::max(most_used_bytes_, used_bytes_);
  return true;
}

// The largest kept block that is too small, by less than half.
bool OutputPool::TakeOutgrown(uint64_t bytes, MemoryBlock* out) {
  size_t best = kept_.size();
  for (size_t i = 0; i < kept_.size(); ++i) {
    const uint64_t size = kept_[i].size;
    if (size < bytes && size >= bytes / 2 && (best == kept_.size() || size > kept_[best].size)) best = i;
  }
  if (best == kept_.size()) return false;
  *out = TakeKept(best);
  return true;
}

MemoryBlock OutputPool::TakeKept(size_t i) {
  const MemoryBlock block = kept_[i];
  kept_.erase(kept_.begin() + static_cast<ptrdiff_t>(i));
  kept_bytes_ -= block.size;
  counters_->bytes.fetch_sub(block.size, std::memory_order_relaxed);
  return block;
}

}  // namespace tailor
