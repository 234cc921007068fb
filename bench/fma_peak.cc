#include "bench/fma_peak.h"

#include <immintrin.h>

#include <string_view>

#include "bench/compiled.h"

namespace tailor::bench {
namespace {

// Chains per step: more than latency times instructions per cycle of current cores (4 x 2).
constexpr int kChains = 12;

struct Peak {
  const char* unit;
  int lanes;
  float (*run)(int64_t steps);
};

// One step of all chains. Each chain is a variable of its own, so that all stay in registers; an empty asm after
// each multiply-add keeps the compiler from merging them.
#define TAILOR_EACH_CHAIN(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define TAILOR_CHAIN(i) , c##i = start
#define TAILOR_STEP(i)     \
  c##i = TAILOR_FMA(c##i); \
  asm("" : "+v"(c##i));
#define TAILOR_SUM(i) +c##i[0]
#define TAILOR_RUN(Vector)                                   \
  const Vector x = Vector{} + 0.999f, y = Vector{} + 0.001f; \
  Vector start = y TAILOR_EACH_CHAIN(TAILOR_CHAIN);          \
  for (int64_t step = 0; step < steps; ++step) {             \
    TAILOR_EACH_CHAIN(TAILOR_STEP)                           \
  }                                                          \
  return 0 TAILOR_EACH_CHAIN(TAILOR_SUM);

#define TAILOR_FMA(c) _mm512_fmadd_ps(c, x, y)
__attribute__((target("avx512f"))) float RunAvx512(int64_t steps) { TAILOR_RUN(__m512) }
#undef TAILOR_FMA

#define TAILOR_FMA(c) _mm256_fmadd_ps(c, x, y)
__attribute__((target("avx2,fma"))) float RunFma(int64_t steps) { TAILOR_RUN(__m256) }
#undef TAILOR_FMA

#define TAILOR_FMA(c) _mm_add_ps(_mm_mul_ps(c, x), y)
float RunSse2(int64_t steps) { TAILOR_RUN(__m128) }
#undef TAILOR_FMA

// Of the widest vectors that HostTarget() has.
const Peak& ThisCpu() {
  static const bool held = std::string_view(HostTarget()) == "x86-64-v3";
  static const Peak peak = __builtin_cpu_supports("avx512f") && !held ? Peak{"avx512f", 16, RunAvx512}
                           : __builtin_cpu_supports("fma")            ? Peak{"fma", 8, RunFma}
                                                                      : Peak{"sse2", 4, RunSse2};
  return peak;
}

}  // namespace

const char* FmaPeakUnit() { return ThisCpu().unit; }
int64_t FmaPeakFlops(int64_t steps) { return steps * kChains * ThisCpu().lanes * 2; }
float RunFmaPeak(int64_t steps) { return ThisCpu().run(steps); }

}  // namespace tailor::bench
