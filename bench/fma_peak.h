// The multiply-add peak of the current core, measured: the reference of matmuls.
#ifndef TAILOR_BENCH_FMA_PEAK_H_
#define TAILOR_BENCH_FMA_PEAK_H_

#include <cstdint>

namespace tailor::bench {

// "avx512f", "fma" or "sse2": the widest f32 multiply-add of this CPU.
const char* FmaPeakUnit();

// Floating-point operations that one RunFmaPeak(steps) does.
int64_t FmaPeakFlops(int64_t steps);

// Independent multiply-adds on registers. The result depends on all of them.
float RunFmaPeak(int64_t steps);

}  // namespace tailor::bench

#endif  // TAILOR_BENCH_FMA_PEAK_H_
