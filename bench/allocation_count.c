/* Counts the allocations of a process that it is preloaded into (LD_PRELOAD), in all threads: malloc, calloc, realloc,
 * aligned allocation, mmap. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* data, size_t size);
void* __libc_memalign(size_t alignment, size_t size);

static atomic_uint_least64_t requests;

static void note(void) { atomic_fetch_add_explicit(&requests, 1, memory_order_relaxed); }

void* malloc(size_t size) {
  note();
  return __libc_malloc(size);
}

void* calloc(size_t count, size_t size) {
  note();
  return __libc_calloc(count, size);
}

void* realloc(void* data, size_t size) {
  note();
  return __libc_realloc(data, size);
}

void* memalign(size_t alignment, size_t size) {
  note();
  return __libc_memalign(alignment, size);
}

void* aligned_alloc(size_t alignment, size_t size) {
  note();
  return __libc_memalign(alignment, size);
}

int posix_memalign(void** out, size_t alignment, size_t size) {
  note();
  void* data = __libc_memalign(alignment, size);
  if (data == NULL) return ENOMEM;
  *out = data;
  return 0;
}

void* mmap(void* address, size_t length, int protection, int flags, int file, off_t offset) {
  note();
  return (void*)syscall(SYS_mmap, address, length, protection, flags, file, offset);
}

/* Allocations, by any thread, while `call(argument)` runs `times` times. */
uint64_t tailor_allocations_during(void* (*call)(void*), void* argument, uint64_t times) {
  const uint64_t before = atomic_load(&requests);
  for (uint64_t i = 0; i < times; ++i) call(argument);
  return atomic_load(&requests) - before;
}
