// Tensors larger than the caches: the bandwidth of a copy, and a chain of elementwise ops against it, on one thread.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "bench/compiled.h"
#include "bench/copy_bandwidth.h"
#include "bench/floats.h"
#include "tools/measure/measuring_thread.h"
#include "tools/measure/averages.h"

namespace tailor::bench {
namespace {

// Input and output of the copy and of the chain.
struct Streams {
  int64_t count = BeyondCacheElements();
  Floats from = TouchedFloats(count), to = TouchedFloats(count);

  double CopySeconds() {
    const double begin = ThreadSeconds();
    CopyPastCaches(from.get(), to.get(), count);
    return ThreadSeconds() - begin;
  }
};

void ReportBandwidth(benchmark::State& state, int64_t count, const std::vector<double>& seconds) {
  state.counters["gigabytes_per_second"] = 8e-9 * static_cast<double>(count) / Median(seconds);
  state.counters["megabytes_each_way"] = 4e-6 * static_cast<double>(count);
}

void MeasureCopy(benchmark::State& state) {
  Streams streams;
  std::vector<double> seconds;
  for (auto _ : state) {
    seconds.push_back(streams.CopySeconds());
    state.SetIterationTime(seconds.back());
  }
  ReportBandwidth(state, streams.count, seconds);
}
BENCHMARK(MeasureCopy)->Name("copy_bandwidth")->UseManualTime()->Iterations(5)->Unit(benchmark::kMillisecond);

// y = max(x * 1.5 + 0.25, 0) * x - 0.125: five ops that read x once and write y once.
ExecutableHandle CompileElementwiseChain() {
  const GraphHandle graph = NewGraph("chain");
  tailor_graph* g = graph.get();
  const auto scalar = [g](double value) {
    tailor_value out;
    Check(tailor_graph_scalar(g, TAILOR_F32, value, &out));
    return out;
  };
  const tailor_value x = Input(g, "x", {Symbol(g, "N", int64_t{1} << 31)});
  tailor_value y;
  Check(tailor_graph_mul(g, x, scalar(1.5), &y));
  Check(tailor_graph_add(g, y, scalar(0.25), &y));
  Check(tailor_graph_max(g, y, scalar(0), &y));
  Check(tailor_graph_mul(g, y, x, &y));
  Check(tailor_graph_sub(g, y, scalar(0.125), &y));
  Output(g, y);
  return Compile(g, "host");
}

// Each iteration runs the chain, then the copy.
void MeasureElementwiseChain(benchmark::State& state) {
  const ExecutableHandle executable = CompileElementwiseChain();
  if (CountLaunches(executable.get()) != 1) return state.SkipWithError("the chain is not one kernel");
  Streams streams;
  const auto tensor = [&](Floats& floats) {
    return TensorOf(floats.get(), streams.count * sizeof(float), TAILOR_F32, {streams.count});
  };
  const SessionHandle session = Bound(executable.get(), 1, {tensor(streams.from)}, {tensor(streams.to)});
  std::vector<double> seconds, shares;
  for (auto _ : state) {
    const double begin = ThreadSeconds();
    Check(tailor_session_run_bound(session.get()));
    seconds.push_back(ThreadSeconds() - begin);
    state.SetIterationTime(seconds.back());
    shares.push_back(streams.CopySeconds() / seconds.back());
  }
  ReportBandwidth(state, streams.count, seconds);
  state.counters["share_of_copy"] = Median(shares);
}
BENCHMARK(MeasureElementwiseChain)
    ->Name("elementwise_chain")
    ->UseManualTime()
    ->Iterations(5)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tailor::bench
