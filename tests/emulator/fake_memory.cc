#include "tests/emulator/fake_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>

namespace tailor::fake_cuda {

DeviceMemory::DeviceMemory() {
  void* pages = mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) std::abort();
  arena_ = reinterpret_cast<uintptr_t>(pages);
}

void* DeviceMemory::Allocate(uint64_t bytes) {
  uintptr_t at = arena_;
  for (const auto& [begin, size] : blocks_) {
    if (begin - at > bytes) break;
    at = (begin + size + kAlignment) / kAlignment * kAlignment;
  }
  if (bytes > arena_ + kBytes - at) return nullptr;
  blocks_[at] = std::max<uint64_t>(bytes, 1);
  used_ += blocks_[at];
  return reinterpret_cast<void*>(at);
}

bool DeviceMemory::Free(void* data) {
  const auto found = blocks_.find(reinterpret_cast<uintptr_t>(data));
  if (found == blocks_.end()) return false;
  used_ -= found->second;
  blocks_.erase(found);
  return true;
}

bool DeviceMemory::Find(const void* data, uintptr_t* begin, uint64_t* bytes) const {
  const auto address = reinterpret_cast<uintptr_t>(data);
  auto found = blocks_.upper_bound(address);
  if (found == blocks_.begin()) return false;
  --found;
  *begin = found->first;
  *bytes = found->second;
  return address - found->first < found->second;
}

void DeviceMemory::Protect(bool open) const {
  mprotect(reinterpret_cast<void*>(arena_), kBytes, open ? PROT_READ | PROT_WRITE : PROT_NONE);
}

}  // namespace tailor::fake_cuda
