#include "exec/cache_size.h"

#include <unistd.h>

#include <algorithm>

namespace tailor {

uint64_t StreamedBytesOf(int64_t cache_bytes) {
  constexpr int64_t kUsual = 32 << 20, kMost = 64 << 20;
  return static_cast<uint64_t>(cache_bytes > 0 ? std::min(cache_bytes, kMost) : kUsual) / 2;
}

uint64_t StreamedBytes() {
  static const uint64_t bytes = StreamedBytesOf(sysconf(_SC_LEVEL3_CACHE_SIZE));
  return bytes;
}

}  // namespace tailor
