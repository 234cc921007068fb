// What a launch on a device costs the host above the driver: chains of kernels on a driver that drops what it is asked
// for (tests/emulator/fake_driver.h), launch by launch and as graphs. No figure of a GPU.
#include <benchmark/benchmark.h>
#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "api/dlpack.h"
#include "bench/compiled.h"
#include "bench/measuring_thread.h"
#include "bench/median.h"

namespace tailor {
namespace {

constexpr int64_t kCounts[] = {1, 8, 64};
constexpr int kRuns = 100;
constexpr int kCalls = 64;

// TAILOR_CUDA_DRIVER, else that of the tests, told to drop launches.
void ChooseDriver() {
  setenv("TAILOR_CUDA_DRIVER", TAILOR_FAKE_CUDA_LIBRARY, /*overwrite=*/0);
  setenv("TAILOR_FAKE_CUDA", "drop=1", /*overwrite=*/0);
}

// `count` products of [N, 1] by [1, 1]. A product is never fused into another, so each is a launch.
ExecutablePtr CompileChain(int64_t count) {
  const GraphPtr graph = NewGraph("chain");
  tailor_value value = Input(graph.get(), "x", {Symbol(graph.get(), "N", 16), Fixed(graph.get(), 1)});
  const tailor_value weight = Constant(graph.get(), "w", {1, 1}, 1);
  for (int64_t i = 0; i < count; ++i) Check(tailor_graph_dot(graph.get(), value, weight, nullptr, &value));
  Output(graph.get(), value);
  const char* target = "simt";
  tailor_compile_options options;
  tailor_compile_options_init(&options);
  options.targets = &target;
  options.target_count = 1;
  options.device = TAILOR_DEVICE_CUDA;
  tailor_executable* executable = nullptr;
  Check(tailor_graph_compile(graph.get(), nullptr, &options, &executable));
  return ExecutablePtr(executable);
}

// Bound to memory of the device at two shapes, of which runs take one or both by turns.
class Chain {
 public:
  Chain(const tailor_executable* executable, bool graph) : executable_(executable) {
    tailor_session_options options;
    tailor_session_options_init(&options);
    options.asynchronous = 1;
    options.cuda_graph = graph ? 1 : 0;
    tailor_session* session = nullptr;
    Check(tailor_session_create(executable, &options, &session));
    session_.reset(session);
    in_ = OnDevice();
    out_ = OnDevice();
    Bind(1);
  }

  void Run() { Check(tailor_session_run_bound(session_.get())); }
  void RunAtOtherShape() {
    Bind(3 - rows_);
    Run();
  }

 private:
  static constexpr int64_t kRows = 2;

  // An output of a run, which leaves the session: the way to memory on the device without a library of CUDA's. It is
  // the process's until it ends.
  tailor_tensor OnDevice() {
    std::vector<float> zeros(kRows);
    const tailor_tensor in = TensorOf(zeros, {kRows, 1});
    tailor_tensor out;
    tailor_tensor_init(&out);
    Check(tailor_session_run(session_.get(), &in, 1, &out, 1));
    Check(tailor_session_wait(session_.get()));
    DLManagedTensor* taken = nullptr;
    Check(tailor_session_take_output(session_.get(), 0, nullptr, &taken));
    Check(tailor_tensor_from_dlpack(executable_, taken, &out));
    return out;
  }
  void Bind(int64_t rows) {
    rows_ = in_.dims[0] = out_.dims[0] = rows;
    Check(tailor_session_bind(session_.get(), &in_, 1, &out_, 1));
    Run();
  }

  const tailor_executable* const executable_;
  SessionPtr session_;
  tailor_tensor in_, out_;
  int64_t rows_ = 0;
};

// Nanoseconds that a run takes.
template <typename Body>
double Time(Body run) {
  const double begin = ThreadSeconds();
  for (int i = 0; i < kRuns; ++i) run();
  return (ThreadSeconds() - begin) * 1e9 / kRuns;
}

// What a launch adds: the slope from the shortest chain to the longest.
double PerLaunch(const std::vector<double>& times) {
  return (times.back() - times.front()) / static_cast<double>(kCounts[std::size(kCounts) - 1] - kCounts[0]);
}

using LaunchKernel = int (*)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                             void**);

void MeasureLaunch(benchmark::State& state) {
  ChooseDriver();
  if (*tailor_runtime_cuda_absence(nullptr) != '\0') return state.SkipWithError(tailor_runtime_cuda_absence(nullptr));
  const auto launch_kernel = reinterpret_cast<LaunchKernel>(
      dlsym(dlopen(std::getenv("TAILOR_CUDA_DRIVER"), RTLD_NOW | RTLD_LOCAL), "cuLaunchKernel"));
  std::vector<ExecutablePtr> executables;
  std::vector<Chain> plain, graph;
  for (const int64_t count : kCounts) {
    executables.push_back(CompileChain(count));
    if (CountLaunches(executables.back().get()) != count) return state.SkipWithError("the chain was fused");
    plain.emplace_back(executables.back().get(), false);
    graph.emplace_back(executables.back().get(), true);
  }
  std::map<std::string, std::vector<double>> found;
  for (auto _ : state) {
    std::map<std::string, std::vector<double>> times;
    for (size_t i = 0; i < std::size(kCounts); ++i) {
      times["plain"].push_back(Time([&] { plain[i].Run(); }));
      times["graph"].push_back(Time([&] { graph[i].Run(); }));
      times["plain_other_shape"].push_back(Time([&] { plain[i].RunAtOtherShape(); }));
      times["graph_other_shape"].push_back(Time([&] { graph[i].RunAtOtherShape(); }));
    }
    for (const auto& [name, series] : times) found[name].push_back(PerLaunch(series));
    const double calls = Time([&] {
      for (int i = 0; i < kCalls; ++i) launch_kernel(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr);
    });
    found["driver"].push_back(calls / kCalls);
    state.SetIterationTime(found["plain"].back() * 1e-9);
  }
  for (const auto& [name, series] : found) state.counters[name] = Median(series);
}
// Counters are nanoseconds for each launch: runs at one shape and at two by turns, and the driver's call alone.
BENCHMARK(MeasureLaunch)->Name("device_launch")->UseManualTime()->Iterations(100)->Unit(benchmark::kNanosecond);

}  // namespace
}  // namespace tailor
