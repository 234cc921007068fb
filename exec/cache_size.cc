#include "exec/cache_size.h"

#include <unistd.h>

#include <algorithm>

namespace tailor {

namespace {
constexpr int64_t kUsual = 32 << 20;
}  // namespace

int64_t LastCacheBytes() {
  static const int64_t bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
  return bytes > 0 ? bytes : kUsual;
}

uint64_t StreamedBytesOf(int64_t cache_bytes) {
  constexpr int64_t kMost = 64 << 20;
  return static_cast<uint64_t>(cache_bytes > 0 ? std::min(cache_bytes, kMost) : kUsual) / 2;
}

uint64_t StreamedBytes() {
  static const uint64_t bytes = StreamedBytesOf(LastCacheBytes());
  return bytes;
}

}  // namespace tailor
