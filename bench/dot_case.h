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

// In f32 for this CPU, any M up to 2^20.
ExecutableHandle CompileDot(int64_t k, int64_t n);

// Seconds of CPU time per call, over `times` calls.
template <typename Call>
double SecondsOf(int64_t times, Call call) {
  const double begin = ThreadSeconds();
  for (int64_t i = 0; i < times; ++i) call();
  return (ThreadSeconds() - begin) / static_cast<double>(times);
}

// Floating-point operations per second of multiply-adds on registers, measured now.
double PeakFlopsNow();

// Seconds to read `count` numbers, in the fastest of three orders. `next()` gives their address, anew for each reading.
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
