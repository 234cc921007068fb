// One matmul x[M, K] w[K, N] with M symbolic and w constant, for the benchmarks of matmuls.
#ifndef TAILOR_BENCH_DOT_CASE_H_
#define TAILOR_BENCH_DOT_CASE_H_

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "bench/compiled.h"
#include "bench/read_bandwidth.h"
#include "tools/measure/measuring_thread.h"

namespace tailor::bench {

struct DotShape {
  int64_t m, k, n;
  double Flops() const { return 2.0 * static_cast<double>(m * k * n); }
  int64_t Numbers() const { return m * k + k * n + m * n; }
  std::string Text() const { return std::to_string(m) + "x" + std::to_string(k) + "x" + std::to_string(n); }
};

// Compiles the matmul in f32 for this CPU, for any M up to 2^20.
ExecutableHandle CompileDot(int64_t k, int64_t n);

// Seconds of CPU time per call, over `times` calls.
template <typename Call>
double SecondsOf(int64_t times, Call call) {
  const double begin = ThreadSeconds();
  for (int64_t i = 0; i < times; ++i) call();
  return (ThreadSeconds() - begin) / static_cast<double>(times);
}

// The multiply-add peak of one core in f32, in flop/s, measured at the call (fma_peak.h).
double PeakFlopsNow();

// Seconds to read `count` floats once: the fastest of three block sizes (read_bandwidth.h). `next()` is called before
// each reading and returns the address.
template <typename Next>
double ReadingSecondsNow(int64_t count, Next next) {
  constexpr int64_t kInOrder = 128, kPages = 8 * 1024;
  const auto times = std::max<int64_t>(1, (1 << 21) / count);
  double seconds = 1e9;
  for (const int64_t block : {kInOrder, kPages, count / kInOrder * kInOrder}) {
    if (block == 0 || block > count) continue;
    seconds = std::min(seconds, SecondsOf(times, [&] { benchmark::DoNotOptimize(ReadOnce(next(), count, block)); }));
  }
  return seconds;
}

}  // namespace tailor::bench

#endif  // TAILOR_BENCH_DOT_CASE_H_
