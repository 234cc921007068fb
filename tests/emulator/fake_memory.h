// The fake driver's device memory: an arena that is inaccessible except while it is open.
#ifndef TAILOR_TESTS_EMULATOR_FAKE_MEMORY_H_
#define TAILOR_TESTS_EMULATOR_FAKE_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <map>

namespace tailor::fake_cuda {

class DeviceMemory {
 public:
  static constexpr uint64_t kBytes = 1ull << 30;
  static constexpr uint64_t kAlignment = 256;

  DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;

  // First fit, so that freed memory is soon reused; null if the arena is full. Allocations are never adjacent: the byte
  // after each belongs to none.
  void* Allocate(uint64_t bytes);
  bool Free(void* data);
  // The allocation that contains `data`: its begin and size. False if there is none.
  bool Find(const void* data, uintptr_t* begin, uint64_t* bytes) const;

  int64_t count() const { return static_cast<int64_t>(blocks_.size()); }
  uint64_t used() const { return used_; }

  // Makes the memory accessible to the process for the time of a scope.
  class Open {
   public:
    explicit Open(const DeviceMemory& memory) : memory_(memory) { memory_.Protect(/*open=*/true); }
    ~Open() { memory_.Protect(/*open=*/false); }

   private:
    const DeviceMemory& memory_;
  };

 private:
  void Protect(bool open) const;

  uintptr_t arena_;
  uint64_t used_ = 0;
  std::map<uintptr_t, uint64_t> blocks_;
};

}  // namespace tailor::fake_cuda

#endif  // TAILOR_TESTS_EMULATOR_FAKE_MEMORY_H_
