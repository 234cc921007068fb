#include "bench/read_bandwidth.h"

#include <immintrin.h>

namespace tailor::bench {
namespace {

// Enough streams to hide the latency of additions; the prefetchers of a core follow more.
constexpr int64_t kStreams = 8;

// One sum for each stream, in a variable of its own, so that all stay in registers.
#define TAILOR_EACH_STREAM(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define TAILOR_ZERO(s) Vector sum##s = {};
#define TAILOR_ADD(s) sum##s += *reinterpret_cast<const Vector*>(numbers + (s)*stream + i);
#define TAILOR_TOTAL(s) +sum##s[0]
#define TAILOR_READ(Vector, kLanes)                                                                            \
  TAILOR_EACH_STREAM(TAILOR_ZERO)                                                                              \
  const int64_t stream = block / kStreams;                                                                     \
  for (const float* end = numbers + count; end - numbers >= kStreams * stream; numbers += kStreams * stream) { \
    for (int64_t i = 0; i < stream; i += kLanes) {                                                             \
      TAILOR_EACH_STREAM(TAILOR_ADD)                                                                           \
    }                                                                                                          \
  }                                                                                                            \
  return 0 TAILOR_EACH_STREAM(TAILOR_TOTAL);

__attribute__((target("avx512f"))) float ReadAvx512(const float* numbers, int64_t count, int64_t block) {
  using Vector = __m512_u;
  TAILOR_READ(Vector, 16)
}
__attribute__((target("avx2"))) float ReadAvx2(const float* numbers, int64_t count, int64_t block) {
  using Vector = __m256_u;
  TAILOR_READ(Vector, 8)
}
float ReadSse2(const float* numbers, int64_t count, int64_t block) {
  using Vector = __m128_u;
  TAILOR_READ(Vector, 4)
}

}  // namespace

float ReadOnce(const float* numbers, int64_t count, int64_t block) {
  static const auto read = __builtin_cpu_supports("avx512f") ? ReadAvx512
                           : __builtin_cpu_supports("avx2")  ? ReadAvx2
                                                             : ReadSse2;
  return read(numbers, count, block);
}

}  // namespace tailor::bench
