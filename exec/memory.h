// The library's own memory at run time (workspaces, outputs, copies), from the host's allocator or the C library's.
#ifndef TAILOR_EXEC_MEMORY_H_
#define TAILOR_EXEC_MEMORY_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
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

// Memory that only grows until it is freed, to exactly the requested size. Every growth counts in
// Counters::workspace_growths.
class GrowingBuffer {
 public:
  // `counters`, if not null, outlives the buffer or its StopCounting.
  explicit GrowingBuffer(const Allocator& allocator, MemoryCounters* counters = nullptr)
      : allocator_(&allocator), counters_(counters) {}
  GrowingBuffer(GrowingBuffer&& other) noexcept;
  GrowingBuffer& operator=(GrowingBuffer&&) = delete;
  ~GrowingBuffer() { Free(); }

  // Makes the buffer at least `bytes` large; contents are lost. On false it is empty.
  bool Grow(uint64_t bytes);
  uint8_t* data() const { return data_; }
  uint64_t size() const { return size_; }
  void Free();
  // The memory leaves the counters' sums.
  void StopCounting();

 private:
  const Allocator* allocator_;
  MemoryCounters* counters_;
  uint8_t* data_ = nullptr;
  uint64_t size_ = 0;
};

// Sum of the sizes, in bytes.
uint64_t TotalBytes(const std::vector<GrowingBuffer>& buffers);

}  // namespace tailor

#endif  // TAILOR_EXEC_MEMORY_H_
