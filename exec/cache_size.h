// Sizes of the machine's caches, in bytes.
#ifndef TAILOR_EXEC_CACHE_SIZE_H_
#define TAILOR_EXEC_CACHE_SIZE_H_

#include <cstdint>
#include <string_view>

namespace tailor {

// Size of the last-level cache that one core reaches; 32 MiB if unknown. Read once.
int64_t LastCacheBytes();

// Parses a size as sysfs prints it: "32768K\n", "1M", "4096". 0 if `size` is not one.
int64_t CacheBytesOf(std::string_view size);

// RtContext::streamed_bytes of this machine, the size from which outputs use streaming stores. Half of the last-level
// cache, because inputs take about as much as outputs; at most 32 MiB, because large caches serve many cores; 16 MiB if
// unknown. Read once.
uint64_t StreamedBytes();

// The same for a last-level cache of `cache_bytes`; 0 or less: unknown.
uint64_t StreamedBytesOf(int64_t cache_bytes);

}  // namespace tailor

#endif  // TAILOR_EXEC_CACHE_SIZE_H_
