// Host time of launches, one by one and in a CUDA graph, beside the driver's own launch of a similar kernel.
#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/gpu/measure/gpu_graph.h"
#include "tests/gpu/measure/measurement.h"
#include "tests/support/sample_device_program.h"
#include "tests/support/sample_ptx.h"
#include "tools/measure/measuring_thread.h"
#include "tools/measure/averages.h"

namespace tailor::bench {
namespace {

constexpr int kRounds = 101, kEmulatedRounds = 9;
constexpr int64_t kRows = 2;
constexpr int64_t kMostPending = 512;  // launches: a driver's queue holds more

// A chain of products of [N, 1] by [1, 1]: a matmul is never fused into another, so each is a launch.
ExecutableHandle CompileChain(const Gpu& gpu, int64_t count) {
  const GraphHandle graph = NewGraph("chain");
  tailor_value value = Input(graph.get(), "x", {Symbol(graph.get(), "N", kRows), Fixed(graph.get(), 1)});
  const tailor_value weight = Constant(graph.get(), "w", {1, 1}, 1);
  for (int64_t i = 0; i < count; ++i) Must(tailor_graph_dot(graph.get(), value, weight, nullptr, &value));
  Output(graph.get(), value);
  ExecutableHandle executable = CompileFor(gpu, graph.get());
  if (tailor_executable_launch_count(executable.get()) != static_cast<size_t>(count)) {
    throw NotMeasured("the chain was fused");
  }
  return executable;
}

// Runs of a chain on tensors of the GPU, of one row or by turns of one and two.
class Chain {
 public:
  Chain(const Gpu& gpu, const tailor_executable* executable, bool graph)
      : x_(gpu, std::vector<float>(kRows, 1).data(), kRows * sizeof(float)),
        y_(gpu, kRows * sizeof(float)),
        session_(SessionOn(gpu, executable, graph)) {
    Bind(1);
    bench::Run(session_.get());
    Must(tailor_session_wait(session_.get()));
  }

  void Run() { bench::Run(session_.get()); }
  void RunAtOtherShape() {
    Bind(kRows + 1 - rows_);
    Run();
  }

 private:
  void Bind(int64_t rows) {
    rows_ = rows;
    const tailor_tensor x = OnGpu(x_, TAILOR_F32, {rows, 1}), y = OnGpu(y_, TAILOR_F32, {rows, 1});
    Must(tailor_session_bind(session_.get(), &x, 1, &y, 1));
  }

  const GpuMemory x_, y_;
  const SessionHandle session_;
  int64_t rows_ = 0;
};

// The sample's kernel that negates, of four parameters, asked for as the runtime asks for its kernels.
class DirectLaunch {
 public:
  explicit DirectLaunch(const Gpu& gpu) : gpu_(gpu) {
    const CudaDriver& driver = gpu.driver();
    if (gpu.emulated()) {
      gpu.Check(driver.LoadIr(&module_, SampleKernels().data(), SampleKernels().size()), "tailor_emulator_load_ir");
    } else {
      gpu.Check(driver.ModuleLoadDataEx(&module_, SamplePtx().c_str(), 0, nullptr, nullptr), "cuModuleLoadDataEx");
    }
    gpu.Check(driver.ModuleGetFunction(&function_, module_, "negate"), "cuModuleGetFunction");
  }
  DirectLaunch(const DirectLaunch&) = delete;
  ~DirectLaunch() { gpu_.driver().ModuleUnload(module_); }

  void Run(int64_t count) const {
    int64_t slots[4] = {};  // of no elements
    size_t bytes = sizeof slots;
    void* parameters[] = {cuda::kLaunchParamBufferPointer, slots, cuda::kLaunchParamBufferSize, &bytes,
                          cuda::kLaunchParamEnd};
    cuda::Result result = cuda::kSuccess;
    for (int64_t i = 0; i < count && result == cuda::kSuccess; ++i) {
      result = gpu_.driver().LaunchKernel(function_, 1, 1, 1, 32, 1, 1, 0, gpu_.stream(), nullptr, parameters);
    }
    gpu_.Check(result, "cuLaunchKernel");
  }

 private:
  const Gpu& gpu_;
  cuda::Module module_ = nullptr;
  cuda::Function function_ = nullptr;
};

// Seconds of this thread until `launches` are asked for; nothing is pending before.
template <typename Work>
double AskingSeconds(const Gpu& gpu, int64_t launches, const Work& work) {
  const double begin = ThreadSeconds();
  work();
  const double seconds = ThreadSeconds() - begin;
  gpu.Wait();
  return seconds / static_cast<double>(launches);
}

}  // namespace

Measured MeasureLaunches(const Gpu& gpu, const MeasuredCase& asked) {
  const int64_t count = std::max<int64_t>(asked.dim_sizes[0], 1), runs = std::max<int64_t>(1, kMostPending / count);
  const ExecutableHandle executable = CompileChain(gpu, count);
  Chain plain(gpu, executable.get(), false), graph(gpu, executable.get(), true);
  const DirectLaunch direct(gpu);
  const auto chains = [runs](auto&& run) {
    return [runs, run] {
      for (int64_t i = 0; i < runs; ++i) run();
    };
  };
  const std::map<std::string, std::function<void()>> ways = {
      {"driver_seconds", [&] { direct.Run(runs * count); }},
      {"seconds", chains([&] { plain.Run(); })},
      {"other_shape_seconds", chains([&] { plain.RunAtOtherShape(); })},
      {"graph_seconds", chains([&] { graph.Run(); })},
      {"graph_other_shape_seconds", chains([&] { graph.RunAtOtherShape(); })},
  };
  std::map<std::string, std::vector<double>> times;
  for (int round = 0; round < (gpu.emulated() ? kEmulatedRounds : kRounds); ++round) {
    for (const auto& [name, way] : ways) times[name].push_back(AskingSeconds(gpu, runs * count, way));
  }
  Measured measured;
  for (const auto& [name, series] : times) measured.figures[name] = Median(series);
  measured.figures["above_driver"] = measured.figures["seconds"] - measured.figures["driver_seconds"];
  return measured;
}

}  // namespace tailor::bench
