#include "exec/cache_size.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <system_error>

namespace tailor {

namespace {
constexpr int64_t kUsual = 32 << 20;
}  // namespace

int64_t CacheBytesOf(std::string_view size) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(size.begin(), size.end(), number);
  if (error != std::errc() || number <= 0) return 0;
  const char unit = end == size.end() ? '\n' : *end;
  if (unit == 'K') return number << 10;
  if (unit == 'M') return number << 20;
  return unit == '\n' ? number : 0;
}

int64_t LastCacheBytes() {
  // The cache that one core reaches. On processors of several dies the C library's _SC_LEVEL3_CACHE_SIZE is the total.
  static const int64_t bytes = [] {
    std::FILE* file = std::fopen("/sys/devices/system/cpu/cpu0/cache/index3/size", "r");
    if (file == nullptr) {
#ifdef _SC_LEVEL3_CACHE_SIZE  // not in musl
      return int64_t{sysconf(_SC_LEVEL3_CACHE_SIZE)};
#else
      return int64_t{0};
#endif
    }
    char size[32];
    const size_t length = std::fread(size, 1, sizeof(size), file);
    std::fclose(file);
    return CacheBytesOf({size, length});
  }();
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
