// What a launch costs the host, beside the driver's own launch of a like kernel.
#include <algorithm>

#include "bench/gpu/gpu_graph.h"
#include "bench/gpu/measurement.h"
#include "bench/measuring_thread.h"
#include "bench/median.h"
#include "tests/support/sample_device_program.h"
#include "tests/support/sample_ptx.h"

namespace tailor {
namespace {

constexpr int kRounds = 101;
constexpr int64_t kMostPending = 512;  // launches: a driver's queue holds more

// A chain of products of one element each: a product is never fused into another, so each is a launch.
ExecutablePtr CompileChain(const Gpu& gpu, int64_t count) {
  const GraphPtr graph = NewGraph("chain");
  tailor_value value = Input(graph.get(), "x", {Fixed(graph.get(), 1), Fixed(graph.get(), 1)});
  const tailor_value weight = Constant(graph.get(), "w", {1, 1}, 1);
  for (int64_t i = 0; i < count; ++i) Must(tailor_graph_dot(graph.get(), value, weight, nullptr, &value));
  Output(graph.get(), value);
  ExecutablePtr executable = CompileFor(gpu, graph.get());
  if (tailor_executable_launch_count(executable.get()) != static_cast<size_t>(count)) {
    throw NotMeasured("the chain was fused");
  }
  return executable;
}

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
  const int64_t count = std::max<int64_t>(asked.extents[0], 1), runs = std::max<int64_t>(1, kMostPending / count);
  const ExecutablePtr executable = CompileChain(gpu, count);
  const float one = 1;
  const GpuMemory x(gpu, &one, sizeof one), y(gpu, sizeof one);
  const SessionPtr bound =
      BoundOn(gpu, executable.get(), {OnGpu(x, TAILOR_F32, {1, 1})}, {OnGpu(y, TAILOR_F32, {1, 1})});
  const DirectLaunch direct(gpu);
  std::vector<double> own, drivers;
  for (int round = 0; round < kRounds; ++round) {
    own.push_back(AskingSeconds(gpu, runs * count, [&] {
      for (int64_t i = 0; i < runs; ++i) Run(bound.get());
    }));
    drivers.push_back(AskingSeconds(gpu, runs * count, [&] { direct.Run(runs * count); }));
  }
  const double seconds = Median(own), driver_seconds = Median(drivers);
  return {{{"seconds", seconds}, {"driver_seconds", driver_seconds}, {"above_driver", seconds - driver_seconds}}, ""};
}

}  // namespace tailor
