// Products x[M, K] w[K, N] with M symbolic and w constant, one executable for each (K, N), on one thread, as a share
// of the multiply-add peak that is measured in between.
#include <benchmark/benchmark.h>

#include <algorithm>
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
  return 0;
}();

}  // namespace
}  // namespace tailor
