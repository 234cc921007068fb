// What the machine's caches hold.
#ifndef TAILOR_EXEC_CACHE_SIZE_H_
#define TAILOR_EXEC_CACHE_SIZE_H_

#include <cstdint>
#include <string_view>

namespace tailor {

// The last cache that a core of this machine reaches; 32 MiB where the system does not tell. Asked once.
int64_t LastCacheBytes();

// How sysfs writes sizes: "32768K\n", "1M", "4096". 0 where `size` is none.
int64_t CacheBytesOf(std::string_view size);

// RtContext::streamed_bytes of this machine: half of its last cache, for what is written was computed from about as
// much, but at most 32 MiB, for large caches serve many cores; 16 MiB where the system does not tell. Asked once.
uint64_t StreamedBytes();

// The same for a machine whose last cache has `cache_bytes`; 0 or less: unknown.
uint64_t StreamedBytesOf(int64_t cache_bytes);

}  // namespace tailor

#endif  // TAILOR_EXEC_CACHE_SIZE_H_
