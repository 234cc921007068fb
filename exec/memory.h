// The library's own memory at run time (workspaces, outputs, copies), from the host's allocator or the C library's.
#ifndef TAILOR_EXEC_MEMORY_H_
#define TAILOR_EXEC_MEMORY_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace tailor {

// The host's allocator functions, both set or both null; thread-safe.
struct Allocator {
  void* (*allocate)(void* user, size_t bytes, size_t alignment) = nullptr;
  void (*deallocate)(void* user, void* data, size_t bytes) = nullptr;
  void* user = nullptr;
};

inline constexpr size_t kBufferAlignment = 64;

// A non-null address for tensors without elements.
void* EmptyTensorData();

// Counts of the buffers of one executable's sessions.
struct MemoryCounters {
  std::atomic<uint64_t> bytes{0};    // that the buffers hold now
  std::atomic<uint64_t> growths{0};  // since creation
};

struct MemoryBlock {
  uint8_t* data = nullptr;
  uint64_t size = 0;  // in bytes
};

// `bytes` bytes at a multiple of kBufferAlignment, or a null block if memory is out.
MemoryBlock AllocateBlock(const Allocator& allocator, uint64_t bytes);
void FreeBlock(const Allocator& allocator, MemoryBlock block);

class OutputPool;

// Counts an allocation in Counters::workspace_growths and, if not null, in `counters`.
void CountGrowth(MemoryCounters* counters);

// Memory that only grows until it is freed: to exactly the requested size, or to that of a block of its pool. Every
// allocation counts (CountGrowth).
class GrowingBuffer {
 public:
  // `counters`, if not null, outlives the buffer or its StopCounting.
  explicit GrowingBuffer(const Allocator& allocator, MemoryCounters* counters = nullptr)
      : allocator_(&allocator), counters_(counters) {}
  GrowingBuffer(std::shared_ptr<OutputPool> pool, MemoryCounters* counters)
      : pool_(std::move(pool)), counters_(counters) {}
  GrowingBuffer(GrowingBuffer&& other) noexcept;
  GrowingBuffer& operator=(GrowingBuffer&&) = delete;
  ~GrowingBuffer() { Free(); }

  // Makes the buffer at least `bytes` large; contents are lost. On false it is empty.
  bool Grow(uint64_t bytes);
  uint8_t* data() const { return block_.data; }
  uint64_t size() const { return block_.size; }
  void Free() { Release(/*keep=*/true); }
  void Swap(GrowingBuffer& other);
  // The memory leaves the counters' sums.
  void StopCounting();

 private:
  void Release(bool keep);

  const Allocator* allocator_ = nullptr;  // null: the pool's
  std::shared_ptr<OutputPool> pool_;
  MemoryCounters* counters_;
  MemoryBlock block_;
};

// Sum of the sizes, in bytes.
uint64_t TotalBytes(const std::vector<GrowingBuffer>& buffers);

}  // namespace tailor

#endif  // TAILOR_EXEC_MEMORY_H_
