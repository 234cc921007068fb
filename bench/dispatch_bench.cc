// Fixed costs: of a run (an empty run, one more kernel), and before the first run (compiling, loading).
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "api/in_use.h"
#include "bench/compiled.h"
#include "tools/measure/measuring_thread.h"

namespace tailor::bench {
namespace {

void MeasureEmptyRun(benchmark::State& state) {
  const GraphHandle graph = NewGraph("neg");
  tailor_value y;
  Check(tailor_graph_neg(graph.get(), Input(graph.get(), "x", {Fixed(graph.get(), 1)}), &y));
  Output(graph.get(), y);
  const ExecutableHandle executable = Compile(graph.get(), "host");
  std::vector<float> in{1}, out{0};
  const SessionHandle session = Bound(executable.get(), 1, {TensorOf(in, {1})}, {TensorOf(out, {1})});
  for (auto _ : state) Check(tailor_session_run_bound(session.get()));
}
BENCHMARK(MeasureEmptyRun)->Name("empty_run");

// The part of a call on a session that refuses concurrent calls.
void MeasureHeldSession(benchmark::State& state) {
  struct Held {
    InUse in_use;
    static void Free(Held*) {}
  } session;
  for (auto _ : state) {
    const Writer<Held> writer(session);
    benchmark::DoNotOptimize(writer.held());
  }
}
BENCHMARK(MeasureHeldSession)->Name("held_session");

// `count` matmuls of one element each. A matmul is never fused into another, so each is a launch.
ExecutableHandle CompileChain(int64_t count) {
  const GraphHandle graph = NewGraph("chain");
  tailor_value value = Input(graph.get(), "x", {Fixed(graph.get(), 1), Fixed(graph.get(), 1)});
  const tailor_value weight = Constant(graph.get(), "w", {1, 1}, 1);
  for (int64_t i = 0; i < count; ++i) Check(tailor_graph_dot(graph.get(), value, weight, nullptr, &value));
  Output(graph.get(), value);
  return Compile(graph.get(), "host");
}

void MeasureChain(benchmark::State& state) {
  const ExecutableHandle executable = CompileChain(state.range(0));
  if (CountLaunches(executable.get()) != state.range(0)) return state.SkipWithError("the chain was fused");
  std::vector<float> in{1}, out{0};
  const SessionHandle session = Bound(executable.get(), 1, {TensorOf(in, {1, 1})}, {TensorOf(out, {1, 1})});
  for (auto _ : state) Check(tailor_session_run_bound(session.get()));
}
BENCHMARK(MeasureChain)->Name("kernel_chain")->RangeMultiplier(4)->Range(1, 64);

double NanosecondsPerRun(tailor_session* session) {
  constexpr int kRuns = 200;
  const double begin = ThreadSeconds();
  for (int i = 0; i < kRuns; ++i) Check(tailor_session_run_bound(session));
  return (ThreadSeconds() - begin) * 1e9 / kRuns;
}

// The slope of a least-squares line through the run times of chains of 1 to 64 kernels, all measured in turn.
void MeasureAddedKernel(benchmark::State& state) {
  constexpr int64_t kCounts[] = {1, 2, 4, 8, 16, 32, 64};
  std::vector<float> in{1}, out{0};
  std::vector<ExecutableHandle> executables;
  std::vector<SessionHandle> sessions;
  double mean = 0;
  for (const int64_t count : kCounts) {
    executables.push_back(CompileChain(count));
    if (CountLaunches(executables.back().get()) != count) return state.SkipWithError("the chain was fused");
    sessions.push_back(Bound(executables.back().get(), 1, {TensorOf(in, {1, 1})}, {TensorOf(out, {1, 1})}));
    mean += static_cast<double>(count) / std::size(kCounts);
  }
  for (auto _ : state) {
    double covariance = 0, variance = 0;
    for (size_t i = 0; i < sessions.size(); ++i) {
      const double distance = static_cast<double>(kCounts[i]) - mean;
      covariance += distance * NanosecondsPerRun(sessions[i].get());
      variance += distance * distance;
    }
    state.SetIterationTime(std::max(covariance / variance, 0.0) * 1e-9);
  }
}
BENCHMARK(MeasureAddedKernel)->Name("added_kernel")->UseManualTime()->Iterations(200);

// ---- Load and compile -------------------------------------------------------------------------------

// An artifact in a file of its own, deleted afterwards.
class SavedArtifact {
 public:
  explicit SavedArtifact(const tailor_executable* executable)
      : path_("/tmp/tailor_bench_" + std::to_string(getpid()) + ".tlr") {
    Check(tailor_executable_save(executable, path_.data(), path_.size()));
  }
  SavedArtifact(const SavedArtifact&) = delete;
  ~SavedArtifact() { unlink(path_.c_str()); }

  // From open to runnable: an executable and a session.
  void Load() const {
    tailor_executable* executable = nullptr;
    Check(tailor_executable_load(nullptr, path_.data(), path_.size(), nullptr, &executable));
    const ExecutableHandle owner(executable);
    tailor_session* session = nullptr;
    Check(tailor_session_create(executable, nullptr, &session));
    tailor_session_release(session);
  }

 private:
  const std::string path_;
};

const EncoderWeights& Weights() {
  static const EncoderWeights weights = SeededEncoder({}, 1);
  return weights;
}

// The encoder's graph with tiny weights: its launches and checks, almost no constants.
EncoderSize Narrow() {
  return {.layers = 6, .heads = 2, .hidden = 16, .inner = 16, .vocabulary = 16, .positions = 512, .batch = 64};
}

void MeasureLoad(benchmark::State& state, const EncoderWeights& weights) {
  const ExecutableHandle executable = Compile(BuildEncoder(weights).get(), nullptr);
  const SavedArtifact artifact(executable.get());
  artifact.Load();
  for (auto _ : state) artifact.Load();
}
void MeasureLoadWithoutConstants(benchmark::State& state) { MeasureLoad(state, SeededEncoder(Narrow(), 1)); }
void MeasureLoadEncoder(benchmark::State& state) { MeasureLoad(state, Weights()); }
BENCHMARK(MeasureLoadWithoutConstants)->Name("load/without_constants")->Unit(benchmark::kMicrosecond);
BENCHMARK(MeasureLoadEncoder)->Name("load/encoder")->Unit(benchmark::kMicrosecond);

// From graph to loaded executable, with packing of the weights, on all cores.
void MeasureCompile(benchmark::State& state, const char* target) {
  const GraphHandle graph = BuildEncoder(Weights());
  for (auto _ : state) Compile(graph.get(), target);
}
BENCHMARK_CAPTURE(MeasureCompile, host, "host")
    ->Name("compile/encoder_host")
    ->Iterations(1)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(MeasureCompile, all, nullptr)
    ->Name("compile/encoder_all_targets")
    ->Iterations(1)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tailor::bench
