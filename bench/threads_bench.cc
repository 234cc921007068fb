// Two threads: the cost of fork and join, the multiply-add peak of both threads, and matmuls against that peak. Elapsed
// times.
#include <benchmark/benchmark.h>
#include <immintrin.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "bench/compiled.h"
#include "bench/fma_peak.h"
#include "exec/thread_team.h"
#include "tools/measure/measuring_thread.h"
#include "tools/measure/averages.h"

namespace tailor::bench {
namespace {

double Now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// A barrier of both threads.
class Barrier {
 public:
  void Attend(size_t worker) {
    came_.fetch_or(1u << worker);
    while (came_.load() != 3) _mm_pause();
  }

 private:
  std::atomic<uint32_t> came_{0};
};

// ---- Fork and join ----------------------------------------------------------------------------------

// Two threads write to one cache line in turn: the time of a round trip between them.
class Rally {
 public:
  static constexpr uint32_t kTurns = 100;

  void Attend(size_t worker) {
    grid_sync_.Attend(worker);
    const double begin = Now();
    for (uint32_t turn = 0; turn < kTurns; ++turn) {
      const uint32_t mine = 2 * turn + static_cast<uint32_t>(worker);
      while (ball_.load(std::memory_order_acquire) != mine) {
      }
      ball_.store(mine + 1, std::memory_order_release);
    }
    if (worker == 0) seconds_ = (Now() - begin) / kTurns;
  }
  double seconds() const { return seconds_; }  // per round trip

 private:
  Barrier grid_sync_;
  alignas(64) std::atomic<uint32_t> ball_{0};
  double seconds_ = 0;
};

double SecondsOfRoundTrip(ThreadTeam& team) {
  Rally rally;
  team.TryRun([](void* data, size_t worker, size_t) { static_cast<Rally*>(data)->Attend(worker); }, &rally, 2,
              /*sleep=*/false);
  return rally.seconds();
}

// A parallel region that ends when the worker has arrived, repeated, so that the worker still spins when the next one
// begins. The fork is one round trip, and the barrier in the region another.
void MeasureForkJoin(benchmark::State& state) {
  const OnAllCpus all_cpus;
  ThreadTeam team(2);
  if (std::thread::hardware_concurrency() < 2) return state.SkipWithError("one CPU");
  constexpr int kRegions = 100;
  const auto attend = [](void* data, size_t worker, size_t) { static_cast<Barrier*>(data)->Attend(worker); };
  std::vector<double> nanoseconds, round_trips;
  for (auto _ : state) {
    const double begin = Now();
    for (int i = 0; i < kRegions; ++i) {
      Barrier grid_sync;
      team.TryRun(attend, &grid_sync, 2, /*sleep=*/false);
    }
    const double seconds = (Now() - begin) / kRegions;
    nanoseconds.push_back(seconds * 1e9);
    round_trips.push_back(SecondsOfRoundTrip(team) * 1e9);
    state.SetIterationTime(seconds);
  }
  state.counters["nanoseconds"] = Median(nanoseconds);
  state.counters["round_trip_nanoseconds"] = Median(round_trips);
}
BENCHMARK(MeasureForkJoin)->Name("fork_join")->UseManualTime()->Iterations(500);

// ---- Matmuls ----------------------------------------------------------------------------------------

// Multiply-adds of both threads at the same time: the sum of their speeds, measured from a common start.
class PeakOfTwo {
 public:
  double Flops() {
    Round round;
    team_.TryRun(
        [](void* data, size_t worker, size_t) {
          auto* both = static_cast<Round*>(data);
          both->grid_sync.Attend(worker);
          const double begin = Now();
          benchmark::DoNotOptimize(RunFmaPeak(kSteps));
          both->flops[worker] = static_cast<double>(FmaPeakFlops(kSteps)) / (Now() - begin);
        },
        &round, 2, /*sleep=*/true);
    return round.flops[0] + round.flops[1];
  }

 private:
  static constexpr int64_t kSteps = 600000;
  struct Round {
    Barrier grid_sync;
    double flops[2] = {0, 0};
  };
  ThreadTeam team_{2};
};

void MeasurePeakOfTwo(benchmark::State& state) {
  const OnAllCpus all_cpus;
  if (std::thread::hardware_concurrency() < 2) return state.SkipWithError("one CPU");
  PeakOfTwo peak;
  std::vector<double> flops;
  for (auto _ : state) flops.push_back(peak.Flops());
  state.counters["gflops"] = Median(flops) * 1e-9;
}
BENCHMARK(MeasurePeakOfTwo)->Name("fma_peak_2_threads")->UseRealTime()->Iterations(40);

struct DotShape {
  int64_t m, k, n;
};
constexpr DotShape kShapes[] = {{672, 768, 768}, {1008, 1024, 1024}, {1024, 1024, 4096}, {2048, 2560, 2560}};

// Each iteration runs the matmul, waits until its worker sleeps, and runs the peak loop.
void MeasureDotOfTwo(benchmark::State& state, DotShape shape) {
  const OnAllCpus all_cpus;
  if (std::thread::hardware_concurrency() < 2) return state.SkipWithError("one CPU");
  const GraphHandle graph = NewGraph("dot");
  const tailor_value x = Input(graph.get(), "x", {Symbol(graph.get(), "M", 1 << 20), Fixed(graph.get(), shape.k)});
  tailor_value product;
  Check(tailor_graph_dot(graph.get(), x, Constant(graph.get(), "w", {shape.k, shape.n}, 1), nullptr, &product));
  Output(graph.get(), product);
  const ExecutableHandle executable = Compile(graph.get(), "host");
  std::vector<float> in = SomeNumbers(shape.m * shape.k, 2), out(shape.m * shape.n);
  const SessionHandle session =
      Bound(executable.get(), 2, {TensorOf(in, {shape.m, shape.k})}, {TensorOf(out, {shape.m, shape.n})});
  const double flops = 2.0 * static_cast<double>(shape.m * shape.k * shape.n);
  PeakOfTwo peak;
  std::vector<double> shares;
  for (auto _ : state) {
    const double begin = Now();
    Check(tailor_session_run_bound(session.get()));
    const double seconds = Now() - begin;
    state.SetIterationTime(seconds);
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    shares.push_back(flops / seconds / peak.Flops());
  }
  state.counters["share_of_peak"] = Median(shares);
}

[[maybe_unused]] const int registered_threads = [] {
  for (const DotShape& shape : kShapes) {
    const std::string name =
        "dot_2_threads/" + std::to_string(shape.m) + "x" + std::to_string(shape.k) + "x" + std::to_string(shape.n);
    benchmark::RegisterBenchmark(name.c_str(), [shape](benchmark::State& state) { MeasureDotOfTwo(state, shape); })
        ->UseManualTime()
        ->Iterations(30)
        ->Unit(benchmark::kMicrosecond);
  }
  return 0;
}();

}  // namespace
}  // namespace tailor::bench
