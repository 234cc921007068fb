// Products x[M, K] w[K, N] with M symbolic and w constant, one executable for each (K, N), on one thread. Two shares
// of what the core can do, both of medians measured in turn: `peak_share` of the multiply-add peak, and
// `roofline_share` of the time that the slower of multiplying and reading takes at least, where reading means going
// through as many bytes as the product has, wherever they lie after they were used. In bf16, for each CPU level that
// multiplies it in a way of its own, beside f32 of the same shape.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bench/compiled.h"
#include "bench/fma_peak.h"
#include "bench/measuring_thread.h"
#include "bench/read_bandwidth.h"

namespace tailor {
namespace {

struct DotShape {
  int64_t m, k, n;
  double Flops() const { return 2.0 * static_cast<double>(m * k * n); }
  int64_t Numbers() const { return m * k + k * n + m * n; }
};

// Of encoders, few rows, small ones, a long K with a small result.
constexpr DotShape kShapes[] = {{84, 768, 768},   {168, 768, 768},   {336, 768, 768},    {672, 768, 768},
                                {84, 1024, 1024}, {504, 1024, 1024}, {1008, 1024, 1024}, {1, 768, 768},
                                {8, 768, 768},    {31, 768, 768},    {100, 768, 768},    {512, 384, 1536},
                                {512, 1536, 384}, {1, 64, 64},       {16, 64, 64},       {64, 64, 64},
                                {33, 50, 20},     {4, 65536, 64},    {16, 65536, 64}};

// Those of DeepBench that take less than a second and a gigabyte. There C[m, n] is column-major, which is
// C[n, m] row-major: its n counts our rows.
std::vector<DotShape> DeepBenchShapes() {
  constexpr double kFlops = 12e9;
  constexpr int64_t kWeights = 1 << 26;
  std::ifstream file(TAILOR_BENCH_DATA "/deepbench_gemm.csv");
  std::set<std::tuple<int64_t, int64_t, int64_t>> seen;
  std::vector<DotShape> shapes;
  for (std::string line; std::getline(file, line);) {
    long long m, n, k;
    if (std::sscanf(line.c_str(), "%*[^,],%lld,%lld,%lld", &m, &n, &k) != 3) continue;
    const DotShape shape{.m = n, .k = k, .n = m};
    if (shape.Flops() > kFlops || k * m > kWeights || !seen.emplace(m, k, n).second) continue;
    shapes.push_back(shape);
  }
  // Shapes with the same weights follow one another and are compiled once.
  std::stable_sort(shapes.begin(), shapes.end(),
                   [](const DotShape& a, const DotShape& b) { return std::tie(a.k, a.n) < std::tie(b.k, b.n); });
  return shapes;
}

ExecutablePtr CompileDot(int64_t k, int64_t n) {
  const GraphPtr graph = NewGraph("dot");
  const tailor_value x = Input(graph.get(), "x", {Symbol(graph.get(), "M", 1 << 20), Fixed(graph.get(), k)});
  tailor_value y;
  Check(tailor_graph_dot(graph.get(), x, Constant(graph.get(), "w", {k, n}, 1), nullptr, &y));
  Output(graph.get(), y);
  return Compile(graph.get(), "host");
}

// Holds the last one: weights of hundreds of megabytes.
const tailor_executable* DotExecutable(int64_t k, int64_t n) {
  static std::pair<int64_t, int64_t> held;
  static ExecutablePtr executable;
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
ExecutablePtr CompileDotBF16(int64_t k, int64_t n, const char* target) {
  const GraphPtr graph = NewGraph("dot_bf16");
  const tailor_dim dims[] = {Symbol(graph.get(), "M", 1 << 20), Fixed(graph.get(), k)};
  const std::vector<uint16_t> weights = BF16(SomeNumbers(k * n, 1));
  tailor_value x, w, y;
  Check(tailor_graph_input(graph.get(), "x", 1, TAILOR_BF16, dims, 2, &x));
  const int64_t extents[] = {k, n};
  Check(tailor_graph_constant(graph.get(), "w", 1, TAILOR_BF16, extents, 2, weights.data(), 2 * weights.size(), nullptr,
                              nullptr, &w));
  Check(tailor_graph_dot(graph.get(), x, w, nullptr, &y));
  Output(graph.get(), y);
  tailor_compile_options options;
  tailor_compile_options_init(&options);
  options.targets = &target;
  options.target_count = 1;
  const OnAllCpus all_cpus;
  tailor_executable* executable = nullptr;
  tailor_status_release(tailor_graph_compile(graph.get(), nullptr, &options, &executable));
  return ExecutablePtr(executable);
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

// Seconds of CPU time that one of `times` calls takes.
template <typename Call>
double SecondsOf(int64_t times, Call call) {
  const double begin = ThreadSeconds();
  for (int64_t i = 0; i < times; ++i) call();
  return (ThreadSeconds() - begin) / static_cast<double>(times);
}

double PeakFlopsNow() {
  constexpr int64_t kSteps = 200000;
  return static_cast<double>(FmaPeakFlops(kSteps)) / SecondsOf(1, [] { benchmark::DoNotOptimize(RunFmaPeak(kSteps)); });
}

// Seconds to read `numbers`, in the order of three that is fastest.
double ReadingSecondsNow(const std::vector<float>& numbers) {
  constexpr int64_t kInOrder = 128, kPages = 8 * 1024;
  const auto count = static_cast<int64_t>(numbers.size());
  const auto times = std::max<int64_t>(1, (1 << 21) / count);
  double seconds = 1e9;
  for (const int64_t block : {kInOrder, kPages, count / kInOrder * kInOrder}) {
    if (block == 0 || block > count) continue;
    seconds =
        std::min(seconds, SecondsOf(times, [&] { benchmark::DoNotOptimize(ReadOnce(numbers.data(), count, block)); }));
  }
  return seconds;
}

// Each iteration runs the product for about a millisecond, then the peak loop, then reads as many numbers.
void MeasureDot(benchmark::State& state, DotShape shape) {
  std::vector<float> x = SomeNumbers(shape.m * shape.k, 2), y(shape.m * shape.n);
  const SessionPtr session =
      Bound(DotExecutable(shape.k, shape.n), 1, {TensorOf(x, {shape.m, shape.k})}, {TensorOf(y, {shape.m, shape.n})});
  const std::vector<float> numbers(shape.Numbers(), 1.0f);
  const auto runs = std::max<int64_t>(1, static_cast<int64_t>(1e8 / shape.Flops()));
  std::vector<double> seconds, peak_shares, roofline_shares;
  for (auto _ : state) {
    seconds.push_back(SecondsOf(runs, [&] { Check(tailor_session_run_bound(session.get())); }));
    state.SetIterationTime(seconds.back());
    const double multiplying = shape.Flops() / PeakFlopsNow();
    const double reading = ReadingSecondsNow(numbers);
    peak_shares.push_back(multiplying / seconds.back());
    roofline_shares.push_back(std::max(multiplying, reading) / seconds.back());
  }
  state.counters["gflops"] = shape.Flops() / Median(seconds) * 1e-9;
  state.counters["peak_share"] = Median(peak_shares);
  state.counters["roofline_share"] = Median(roofline_shares);
}

// Each iteration runs the product in f32 for about a millisecond, then in bf16 as many times.
void MeasureDotBF16(benchmark::State& state, DotShape shape, const char* target) {
  std::vector<float> x = SomeNumbers(shape.m * shape.k, 2), y(shape.m * shape.n);
  std::vector<uint16_t> x16 = BF16(x), y16(shape.m * shape.n);
  const SessionPtr wide =
      Bound(DotExecutable(shape.k, shape.n), 1, {TensorOf(x, {shape.m, shape.k})}, {TensorOf(y, {shape.m, shape.n})});
  const ExecutablePtr executable = CompileDotBF16(shape.k, shape.n, target);
  if (executable == nullptr) return state.SkipWithError("this machine does not run it");
  const SessionPtr narrow =
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

void RegisterDot(const DotShape& shape) {
  const std::string name =
      "dot/" + std::to_string(shape.m) + "x" + std::to_string(shape.k) + "x" + std::to_string(shape.n);
  const auto rounds = std::clamp<int64_t>(static_cast<int64_t>(4e9 / shape.Flops()), 5, 40);
  benchmark::RegisterBenchmark(name.c_str(), [shape](benchmark::State& state) { MeasureDot(state, shape); })
      ->UseManualTime()
      ->Iterations(rounds)
      ->Unit(benchmark::kMicrosecond);
}

[[maybe_unused]] const int registered = [] {
  benchmark::RegisterBenchmark("fma_peak", MeasurePeak)->UseManualTime()->Iterations(100);
  for (const DotShape& shape : kShapes) RegisterDot(shape);
  for (const DotShape& shape : DeepBenchShapes()) RegisterDot(shape);
  for (const char* target : {"x86-64-v4+avx512bf16+amx-tile+amx-bf16", "x86-64-v4+avx512bf16", "x86-64-v4"}) {
    for (const DotShape& shape : kShapesBF16) {
      const std::string name = std::string("dot_bf16/") + target + "/" + std::to_string(shape.m) + "x" +
                               std::to_string(shape.k) + "x" + std::to_string(shape.n);
      benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) { MeasureDotBF16(state, shape, target); })
          ->UseManualTime()
          ->Iterations(40)
          ->Unit(benchmark::kMicrosecond);
    }
  }
  return 0;
}();

}  // namespace
}  // namespace tailor
