// The library's own memory at run time (workspaces, outputs, copies), from the host's allocator or the C library's.
#ifndef TAILOR_EXEC_MEMORY_H_
#define TAILOR_EXEC_MEMORY_H_

#include <cstddef>
#include <cstdint>

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

// Memory that only grows, to exactly the requested size. Every growth counts in Counters::workspace_growths.
class GrowingBuffer {
 public:
  explicit GrowingBuffer(const Allocator& allocator) : allocator_(&allocator) {}
  GrowingBuffer(GrowingBuffer&& other) noexcept;
  GrowingBuffer& operator=(GrowingBuffer&&) = delete;
  ~GrowingBuffer() { Free(); }

  // Makes the buffer at least `bytes` large; contents are lost. On false it is empty.
  bool Grow(uint64_t bytes);
  uint8_t* data() const { return data_; }
  uint64_t size() const { return size_; }

 private:
  void Free();

  const Allocator* allocator_;
  uint8_t* data_ = nullptr;
  uint64_t size_ = 0;
};

}  // namespace tailor

#endif  // TAILOR_EXEC_MEMORY_H_
