#include "api/isolated/out_of_memory.h"

#include <malloc.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>

// glibc's implementations.
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* block, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
}

namespace tailor::isolated {
namespace {

std::atomic<void (*)()> out_of_memory_handler{nullptr};

void* Checked(void* block) {
  if (block == nullptr) [[unlikely]] {
    if (auto* end = out_of_memory_handler.load()) end();
    errno = ENOMEM;
  }
  return block;
}

}  // namespace

void SetOutOfMemory(void (*end)()) { out_of_memory_handler.store(end); }

}  // namespace tailor::isolated

using tailor::isolated::Checked;

extern "C" {
void* malloc(size_t size) noexcept { return Checked(__libc_malloc(size)); }
void* calloc(size_t count, size_t size) noexcept { return Checked(__libc_calloc(count, size)); }
void* realloc(void* block, size_t size) noexcept {
  void* moved = __libc_realloc(block, size);
  return size == 0 ? moved : Checked(moved);
}
void* memalign(size_t alignment, size_t size) noexcept { return Checked(__libc_memalign(alignment, size)); }
void* aligned_alloc(size_t alignment, size_t size) noexcept { return Checked(__libc_memalign(alignment, size)); }
int posix_memalign(void** out, size_t alignment, size_t size) noexcept {
  void* block = Checked(__libc_memalign(alignment, size));
  if (block == nullptr) return ENOMEM;
  *out = block;
  return 0;
}
}
