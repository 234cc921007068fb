#include "bench/copy_bandwidth.h"

#include <immintrin.h>
#include <unistd.h>

#include <algorithm>

namespace tailor::bench {
namespace {

__attribute__((target("avx512f"))) void CopyAvx512(const float* from, float* to, int64_t count) {
  for (int64_t i = 0; i < count; i += 16) _mm512_stream_ps(to + i, _mm512_load_ps(from + i));
}

void CopySse2(const float* from, float* to, int64_t count) {
  for (int64_t i = 0; i < count; i += 4) _mm_stream_ps(to + i, _mm_load_ps(from + i));
}

}  // namespace

void CopyPastCaches(const float* from, float* to, int64_t count) {
  (__builtin_cpu_supports("avx512f") ? CopyAvx512 : CopySse2)(from, to, count);
  _mm_sfence();
}

int64_t BeyondCacheElements() {
  const int64_t least = int64_t{64} << 20, cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
  const int64_t most = sysconf(_SC_AVPHYS_PAGES) / 8 * sysconf(_SC_PAGESIZE);
  return std::min(std::max(least, 4 * cache), std::max(least, most)) / 64 * 16;
}

}  // namespace tailor::bench
