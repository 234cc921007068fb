// Matmuls x[M, K] w[K, N] with M symbolic and w constant, one executable for each (K, N), on one thread. Two counters,
// both from medians measured in turn: `peak_share` is the share of the multiply-add peak. `roofline_share` is the
// longer of multiplying at that peak and of reading as many bytes as the matmul has, from wherever they lie after use,
// over the matmul's time. In bf16: for each CPU level with instructions of its own for it, beside f32 of the same
// shape.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "bench/dot_case.h"
#include "bench/fma_peak.h"
#include "tools/measure/averages.h"

namespace tailor::bench {
namespace {

// Encoders; few rows; small ones; a long K with a small result.
constexpr DotShape kShapes[] = {{84, 768, 768},   {168, 768, 768},   {336, 768, 768},    {672, 768, 768},
                                {84, 1024, 1024}, {504, 1024, 1024}, {1008, 1024, 1024}, {1, 768, 768},
                                {8, 768, 768},    {31, 768, 768},    {100, 768, 768},    {512, 384, 1536},
                                {512, 1536, 384}, {1, 64, 64},       {16, 64, 64},       {64, 64, 64},
                                {33, 50, 20},     {4, 65536, 64},    {16, 65536, 64}};

// Keeps only the last one: weights take hundreds of megabytes.
const tailor_executable* DotExecutable(int64_t k, int64_t n) {
  static std::pair<int64_t, int64_t> held;
  static ExecutableHandle executable;
  if (held != std::pair(k, n)) {
    executable = nullptr;
    executable = CompileDot(k, n);
    held = {k, n};
  }
  return executable.get();
}

constexpr DotShape kShapesBF16[] = {{512, 1024, 1024}, {1008, 1024, 1024}, {512, 384, 1536}, {128, 128, 128},
                                    {100, 100, 100},   {8, 768, 768},      {1, 768, 768}};

// Rounded towards zero.
std::vector<uint16_t> BF16(const std::vector<float>& numbers) {
  std::vector<uint16_t> bits;
  for (const float number : numbers) bits.push_back(std::bit_cast<uint32_t>(number) >> 16);
  return bits;
}

// Null where this machine does not run `target`.
ExecutableHandle CompileDotBF16(int64_t k, int64_t n, const char* target) {
  const GraphHandle graph = NewGraph("dot_bf16");
  const tailor_dim dims[] = {Symbol(graph.get(), "M", 1 << 20), Fixed(graph.get(), k)};
  const std::vector<uint16_t> weights = BF16(SomeNumbers(k * n, 1));
  tailor_value x, w, y;
  Check(tailor_graph_input(graph.get(), "x", 1, TAILOR_BF16, dims, 2, &x));
  const int64_t dim_sizes[] = {k, n};
  Check(tailor_graph_constant(graph.get(), "w", 1, TAILOR_BF16, dim_sizes, 2, weights.data(), 2 * weights.size(),
                              nullptr, nullptr, &w));
  Check(tailor_graph_dot(graph.get(), x, w, nullptr, &y));
  Output(graph.get(), y);
  tailor_compile_options options;
  tailor_compile_options_init(&options);
  options.targets = &target;
  options.target_count = 1;
  const OnAllCpus all_cpus;
  tailor_executable* executable = nullptr;
  tailor_status_release(tailor_graph_compile(graph.get(), nullptr, &options, &executable));
  return ExecutableHandle(executable);
}

constexpr int64_t kMostRuns = 20000;  // of an iteration: a matmul of a few numbers takes tens of nanoseconds

// Each iteration runs the matmul for about a millisecond, then the peak loop, then reads as many numbers.
void MeasureDot(benchmark::State& state, DotShape shape) {
  std::vector<float> x = SomeNumbers(shape.m * shape.k, 2), y(shape.m * shape.n);
  const SessionHandle session =
      Bound(DotExecutable(shape.k, shape.n), 1, {TensorOf(x, {shape.m, shape.k})}, {TensorOf(y, {shape.m, shape.n})});
  const std::vector<float> numbers(shape.Numbers(), 1.0f);
  const auto runs = std::clamp<int64_t>(static_cast<int64_t>(1e8 / shape.Flops()), 1, kMostRuns);
  std::vector<double> seconds, peak_shares, roofline_shares;
  for (auto _ : state) {
    seconds.push_back(SecondsOf(runs, [&] { Check(tailor_session_run_bound(session.get())); }));
    state.SetIterationTime(seconds.back());
    const double multiplying = shape.Flops() / PeakFlopsNow();
    const double reading = ReadingSecondsNow(shape.Numbers(), [&] { return numbers.data(); });
    peak_shares.push_back(multiplying / seconds.back());
    roofline_shares.push_back(std::max(multiplying, reading) / seconds.back());
  }
  state.counters["gflops"] = shape.Flops() / Median(seconds) * 1e-9;
  state.counters["peak_share"] = Median(peak_shares);
  state.counters["roofline_share"] = Median(roofline_shares);
}

// Each iteration runs the matmul in f32 for about a millisecond, then in bf16 as many times.
void MeasureDotBF16(benchmark::State& state, DotShape shape, const char* target) {
  std::vector<float> x = SomeNumbers(shape.m * shape.k, 2), y(shape.m * shape.n);
  std::vector<uint16_t> x16 = BF16(x), y16(shape.m * shape.n);
  const SessionHandle wide =
      Bound(DotExecutable(shape.k, shape.n), 1, {TensorOf(x, {shape.m, shape.k})}, {TensorOf(y, {shape.m, shape.n})});
  const ExecutableHandle executable = CompileDotBF16(shape.k, shape.n, target);
  if (executable == nullptr) return state.SkipWithError("this machine does not run it");
  const SessionHandle narrow =
      Bound(executable.get(), 1, {TensorOf(x16.data(), 2 * x16.size(), TAILOR_BF16, {shape.m, shape.k})},
            {TensorOf(y16.data(), 2 * y16.size(), TAILOR_BF16, {shape.m, shape.n})});
  const auto runs = std::max<int64_t>(1, static_cast<int64_t>(2e8 / shape.Flops()));
  std::vector<double> seconds, ratios;
  for (auto _ : state) {
    const double wide_seconds = SecondsOf(runs, [&] { Check(tailor_session_run_bound(wide.get())); });
    seconds.push_back(SecondsOf(runs, [&] { Check(tailor_session_run_bound(narrow.get())); }));
    state.SetIterationTime(seconds.back());
    ratios.push_back(wide_seconds / seconds.back());
  }
  state.counters["gflops"] = shape.Flops() / Median(seconds) * 1e-9;
  state.counters["times_f32"] = Median(ratios);
}

void MeasurePeak(benchmark::State& state) {
  std::vector<double> flops;
  for (auto _ : state) {
    flops.push_back(PeakFlopsNow());
    state.SetIterationTime(1 / flops.back());
  }
  state.counters["gflops"] = Median(flops) * 1e-9;
  state.SetLabel(FmaPeakUnit());
}

// Those of TAILOR_BENCH_DOTS, "8x4x4 1x64x64".
std::vector<DotShape> GivenShapes() {
  const char* given = std::getenv("TAILOR_BENCH_DOTS");
  std::istringstream words(given == nullptr ? "" : given);
  std::vector<DotShape> shapes;
  for (std::string word; words >> word;) {
    long long m, k, n;
    if (std::sscanf(word.c_str(), "%lldx%lldx%lld", &m, &k, &n) == 3) shapes.push_back({.m = m, .k = k, .n = n});
  }
  return shapes;
}

void RegisterDot(const std::string& family, const DotShape& shape) {
  const std::string name = family + "/" + shape.Text();
  const auto rounds = std::clamp<int64_t>(static_cast<int64_t>(4e9 / shape.Flops()), 5, 40);
  benchmark::RegisterBenchmark(name.c_str(), [shape](benchmark::State& state) { MeasureDot(state, shape); })
      ->UseManualTime()
      ->Iterations(rounds)
      ->Unit(benchmark::kMicrosecond);
}

[[maybe_unused]] const int registered = [] {
  benchmark::RegisterBenchmark("fma_peak", MeasurePeak)->UseManualTime()->Iterations(100);
  for (const DotShape& shape : kShapes) RegisterDot("dot", shape);
  for (const DotShape& shape : GivenShapes()) RegisterDot("given_dot", shape);
  for (const char* target : {"x86-64-v4+avx512bf16+amx-tile+amx-bf16", "x86-64-v4+avx512bf16", "x86-64-v4"}) {
    for (const DotShape& shape : kShapesBF16) {
      const std::string name = std::string("dot_bf16/") + target + "/" + shape.Text();
      benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) { MeasureDotBF16(state, shape, target); })
          ->UseManualTime()
          ->Iterations(40)
          ->Unit(benchmark::kMicrosecond);
    }
  }
  return 0;
}();

}  // namespace
}  // namespace tailor::bench
