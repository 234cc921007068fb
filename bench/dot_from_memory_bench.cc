// The matmuls of data/zen4_1thread_peers.csv with weights that come from memory, as in a model of many layers: copies
// of w take turns, together larger than four last-level caches as far as memory allows. One thread. Two counters,
// relative to the core's speed as measured in between: `peak_share` is the share of the multiply-add peak.
// `roofline_share` is the longer of multiplying at that peak and of reading the bytes of x, w and y from memory, over
// the matmul's time.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bench/copy_bandwidth.h"
#include "bench/dot_case.h"
#include "bench/floats.h"
#include "tools/measure/averages.h"

namespace tailor::bench {
namespace {

// C[m, n] is column-major there, which is C[n, m] row-major: n is our number of rows.
std::vector<DotShape> ListedShapes() {
  std::ifstream file(TAILOR_BENCH_DATA "/zen4_1thread_peers.csv");
  std::vector<DotShape> shapes;
  for (std::string line; std::getline(file, line);) {
    long long m, n, k;
    if (std::sscanf(line.c_str(), "%lld,%lld,%lld", &m, &n, &k) == 3) shapes.push_back({.m = n, .k = k, .n = m});
  }
  // Shapes with the same weights follow one another and are compiled once.
  std::stable_sort(shapes.begin(), shapes.end(),
                   [](const DotShape& a, const DotShape& b) { return std::tie(a.k, a.n) < std::tie(b.k, b.n); });
  return shapes;
}

ExecutableHandle LoadCopied(const std::string& path) {
  tailor_load_options options;
  tailor_load_options_init(&options);
  options.copy_constants = 1;
  tailor_executable* executable = nullptr;
  Check(tailor_executable_load(nullptr, path.data(), path.size(), &options, &executable));
  return ExecutableHandle(executable);
}

// Equal executables with weights of their own, together larger than the caches.
std::vector<ExecutableHandle> CompileCopies(int64_t k, int64_t n) {
  std::vector<ExecutableHandle> copies;
  copies.push_back(CompileDot(k, n));
  const int64_t numbers = BeyondCacheElements();
  if (numbers <= k * n) return copies;
  char path[] = "/tmp/tailor_bench_XXXXXX";
  const int file = mkstemp(path);
  if (file < 0) abort();
  close(file);
  Check(tailor_executable_save(copies[0].get(), path, sizeof path - 1));
  for (int64_t held = k * n; held < numbers; held += k * n) copies.push_back(LoadCopied(path));
  unlink(path);
  return copies;
}

// Keeps only the last ones.
const std::vector<ExecutableHandle>& Copies(int64_t k, int64_t n) {
  static std::pair<int64_t, int64_t> held;
  static std::vector<ExecutableHandle> copies;
  if (held != std::pair(k, n)) {
    copies.clear();
    copies = CompileCopies(k, n);
    held = {k, n};
  }
  return copies;
}

// Parts of an array larger than the caches, in turn: a part is read again only when caches have evicted it.
class FarNumbers {
 public:
  const float* Next(int64_t count) {
    if (count > size_) Grow(count);
    if (next_ + count > size_) next_ = 0;
    next_ += count;
    return numbers_.get() + next_ - count;
  }

 private:
  void Grow(int64_t count) {
    size_ = std::max(count, BeyondCacheElements());
    numbers_ = TouchedFloats(size_);
  }

  int64_t size_ = 0, next_ = 0;
  Floats numbers_;
};

// Each iteration runs the matmul for about a millisecond, then the peak loop, then reads as many numbers.
void MeasureDotFromMemory(benchmark::State& state, DotShape shape) {
  static FarNumbers far_numbers;
  std::vector<float> x = SomeNumbers(shape.m * shape.k, 2), y(shape.m * shape.n);
  std::vector<SessionHandle> sessions;
  for (const ExecutableHandle& copy : Copies(shape.k, shape.n)) {
    sessions.push_back(Bound(copy.get(), 1, {TensorOf(x, {shape.m, shape.k})}, {TensorOf(y, {shape.m, shape.n})}));
  }
  size_t turn = 0;
  const auto run = [&] { Check(tailor_session_run_bound(sessions[turn++ % sessions.size()].get())); };
  const auto runs = std::max<int64_t>(1, static_cast<int64_t>(1e8 / shape.Flops()));
  std::vector<double> seconds, peak_shares, roofline_shares;
  for (auto _ : state) {
    seconds.push_back(SecondsOf(runs, run));
    state.SetIterationTime(seconds.back());
    const double multiplying = shape.Flops() / PeakFlopsNow();
    const double reading = ReadingSecondsNow(shape.Numbers(), [&] { return far_numbers.Next(shape.Numbers()); });
    peak_shares.push_back(multiplying / seconds.back());
    roofline_shares.push_back(std::max(multiplying, reading) / seconds.back());
  }
  state.counters["gflops"] = shape.Flops() / Median(seconds) * 1e-9;
  state.counters["peak_share"] = Median(peak_shares);
  state.counters["roofline_share"] = Median(roofline_shares);
  state.counters["copies"] = static_cast<double>(sessions.size());
}

[[maybe_unused]] const int registered_from_memory = [] {
  for (const DotShape& shape : ListedShapes()) {
    const auto rounds = std::clamp<int64_t>(static_cast<int64_t>(4e9 / shape.Flops()), 5, 40);
    benchmark::RegisterBenchmark(("dot_from_memory/" + shape.Text()).c_str(),
                                 [shape](benchmark::State& state) { MeasureDotFromMemory(state, shape); })
        ->UseManualTime()
        ->Iterations(rounds)
        ->Unit(benchmark::kMicrosecond);
  }
  return 0;
}();

}  // namespace
}  // namespace tailor::bench
