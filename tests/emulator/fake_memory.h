// The fake driver's device memory: an arena that nobody can touch, but while it is open.
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

  // First fit, so that what is freed is soon another's; null where the arena is full. No two are neighbours: the byte
  // after each is nobody's.
  void* Allocate(uint64_t bytes);
  bool Free(void* data);
  // The allocation that holds `data`: its begin and size. False where there is none.
  bool Find(const void* data, uintptr_t* begin, uint64_t* bytes) const;

  int64_t count() const { return static_cast<int64_t>(blocks_.size()); }
  uint64_t used() const { return used_; }

  // Lets the process touch the memory for the time of a scope.
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
