// Products x[M, K] w[K, N] with M symbolic and w constant, one executable for each (K, N), on one thread: in f32 as a
// share of the multiply-add peak that is measured in between; in bf16, for each CPU level that multiplies it in a way
// of its own, beside f32 of the same shape.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bench/compiled.h"
#include "bench/fma_peak.h"
#include "bench/measuring_thread.h"

namespace tailor {
namespace {

struct DotShape {
  int64_t m, k, n;
};
constexpr DotShape kShapes[] = {{84, 768, 768},   {168, 768, 768},   {336, 768, 768},    {672, 768, 768},
                                {84, 1024, 1024}, {504, 1024, 1024}, {1008, 1024, 1024}, {1, 768, 768},
                                {8, 768, 768},    {31, 768, 768},    {100, 768, 768},    {512, 384, 1536},
                                {512, 1536, 384}};

ExecutablePtr CompileDot(int64_t k, int64_t n) {
  const GraphPtr graph = NewGraph("dot");
  const tailor_value x = Input(graph.get(), "x", {Symbol(graph.get(), "M", 1 << 20), Fixed(graph.get(), k)});
  tailor_value y;
  Check(tailor_graph_dot(graph.get(), x, Constant(graph.get(), "w", {k, n}, 1), nullptr, &y));
  Output(graph.get(), y);
  return Compile(graph.get(), "host");
}

const tailor_executable* DotExecutable(int64_t k, int64_t n) {
  static std::map<std::pair<int64_t, int64_t>, ExecutablePtr> executables;
  ExecutablePtr& executable = executables[{k, n}];
  if (executable == nullptr) executable = CompileDot(k, n);
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

// Each iteration runs the product for about a millisecond, then the peak loop for as long.
void MeasureDot(benchmark::State& state, DotShape shape) {
  std::vector<float> x = SomeNumbers(shape.m * shape.k, 2), y(shape.m * shape.n);
  const SessionPtr session =
      Bound(DotExecutable(shape.k, shape.n), 1, {TensorOf(x, {shape.m, shape.k})}, {TensorOf(y, {shape.m, shape.n})});
  const double flops = 2.0 * static_cast<double>(shape.m * shape.k * shape.n);
  const auto runs = std::max<int64_t>(1, static_cast<int64_t>(2e8 / flops));
  constexpr int64_t kPeakSteps = 300000;
  std::vector<double> seconds, shares;
  for (auto _ : state) {
    double begin = ThreadSeconds();
    for (int64_t i = 0; i < runs; ++i) Check(tailor_session_run_bound(session.get()));
    seconds.push_back((ThreadSeconds() - begin) / static_cast<double>(runs));
    state.SetIterationTime(seconds.back());
    begin = ThreadSeconds();
    benchmark::DoNotOptimize(RunFmaPeak(kPeakSteps));
    const double peak = static_cast<double>(FmaPeakFlops(kPeakSteps)) / (ThreadSeconds() - begin);
    shares.push_back(flops / seconds.back() / peak);
  }
  state.counters["gflops"] = flops / Median(seconds) * 1e-9;
  state.counters["share_of_peak"] = Median(shares);
}

double SecondsOf(tailor_session* session, int64_t runs) {
  const double begin = ThreadSeconds();
  for (int64_t i = 0; i < runs; ++i) Check(tailor_session_run_bound(session));
  return (ThreadSeconds() - begin) / static_cast<double>(runs);
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
  const double flops = 2.0 * static_cast<double>(shape.m * shape.k * shape.n);
  const auto runs = std::max<int64_t>(1, static_cast<int64_t>(2e8 / flops));
  std::vector<double> seconds, ratios;
  for (auto _ : state) {
    const double wide_seconds = SecondsOf(wide.get(), runs);
    seconds.push_back(SecondsOf(narrow.get(), runs));
    state.SetIterationTime(seconds.back());
    ratios.push_back(wide_seconds / seconds.back());
  }
  state.counters["gflops"] = flops / Median(seconds) * 1e-9;
  state.counters["times_f32"] = Median(ratios);
}

void MeasurePeak(benchmark::State& state) {
  constexpr int64_t kSteps = 300000;
  std::vector<double> seconds;
  for (auto _ : state) {
    const double begin = ThreadSeconds();
    benchmark::DoNotOptimize(RunFmaPeak(kSteps));
    seconds.push_back(ThreadSeconds() - begin);
    state.SetIterationTime(seconds.back());
  }
  state.counters["gflops"] = static_cast<double>(FmaPeakFlops(kSteps)) / Median(seconds) * 1e-9;
  state.SetLabel(FmaPeakUnit());
}

[[maybe_unused]] const int registered = [] {
  benchmark::RegisterBenchmark("fma_peak", MeasurePeak)->UseManualTime()->Iterations(100);
  for (const DotShape& shape : kShapes) {
    const std::string name =
        "dot/" + std::to_string(shape.m) + "x" + std::to_string(shape.k) + "x" + std::to_string(shape.n);
    benchmark::RegisterBenchmark(name.c_str(), [shape](benchmark::State& state) { MeasureDot(state, shape); })
        ->UseManualTime()
        ->Iterations(40)
        ->Unit(benchmark::kMicrosecond);
  }
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
