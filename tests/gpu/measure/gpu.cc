#include "tests/gpu/measure/gpu.h"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "tests/emulator/fake_driver_in_use.h"
#include "tools/measure/averages.h"

namespace tailor::bench {

// Of the driver's library, beside what Tailor itself calls.
struct Gpu::Events {
  using Event = struct CUevent_st*;
  cuda::Result (*Create)(Event* event, unsigned flags);
  cuda::Result (*Record)(Event event, cuda::Stream stream);
  cuda::Result (*Synchronize)(Event event);
  cuda::Result (*ElapsedTime)(float* milliseconds, Event from, Event to);
  // Null where the library lacks one of them.
  cuda::Result (*BeginCapture)(cuda::Stream stream, int mode);
  cuda::Result (*EndCapture)(cuda::Stream stream, cuda::DriverGraph* graph);
  Event begin = nullptr, end = nullptr;

  // False where the library has no events.
  bool Load(void* library) {
    const auto bind = [&](const char* symbol, auto* function) {
      *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(dlsym(library, symbol));
      return *function != nullptr;
    };
    if (!bind("cuStreamBeginCapture_v2", &BeginCapture) || !bind("cuStreamEndCapture", &EndCapture)) {
      BeginCapture = nullptr;
    }
    return bind("cuEventCreate", &Create) && bind("cuEventRecord", &Record) &&
           bind("cuEventSynchronize", &Synchronize) && bind("cuEventElapsedTime", &ElapsedTime) &&
           Create(&begin, 0) == cuda::kSuccess && Create(&end, 0) == cuda::kSuccess;
  }
};

namespace {

constexpr double kTurnSeconds = 0.02;
constexpr int kTurns = 7, kMostCalls = 1000;

double Now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// The target whose code the architecture runs, best first; "" where there is none.
std::string TargetFor(const CudaArchitecture& at) {
  if (at.emulated) return "simt";
  if (at.major == 9 && at.minor == 0) return "sm_90a";
  return at.major >= 8 ? "sm_80" : "";
}

}  // namespace

std::string Gpu::Absence() {
  const CudaDevices& devices = CudaDevices::OfThisProcess();
  if (!devices.absence().empty()) return devices.absence();
  const CudaDevice::Info& info = devices.list().front()->info();
  if (!TargetFor(info.architecture).empty()) return "";
  return info.name + " is " + NameOf(info.architecture) + "; kernels are made for sm_80 and later";
}

Gpu* Gpu::First() {
  static Gpu* const gpu = Absence().empty() ? new Gpu(*CudaDevices::OfThisProcess().list().front()) : nullptr;
  return gpu;
}

Gpu::Gpu(const CudaDevice& device) : device_(device), target_(TargetFor(device.info().architecture)) {
  if (const Failure failed = device.RetainContext(); !failed.ok()) throw NotMeasured(failed.message);
  Check(driver().CtxSetCurrent(device.context()), "cuCtxSetCurrent");
  Check(driver().StreamCreate(&stream_, cuda::kStreamNonBlocking), "cuStreamCreate");
  static Events events;
  if (events.Load(dlopen(CudaDriverPath().c_str(), RTLD_NOW | RTLD_LOCAL))) events_ = &events;
}

void Gpu::Check(cuda::Result result, const char* call) const {
  const Failure failed = CudaFailure(driver(), result, call, "a measurement");
  if (!failed.ok()) throw NotMeasured(failed.message + tailor_fake_cuda_complaints());
}

void Gpu::Wait() const { Check(driver().StreamSynchronize(stream_), "cuStreamSynchronize"); }

double Gpu::SecondsOf(int times, const std::function<void()>& work) const {
  Wait();
  const double begin = Now();
  if (events_ != nullptr) Check(events_->Record(events_->begin, stream_), "cuEventRecord");
  for (int i = 0; i < times; ++i) work();
  if (events_ == nullptr) {
    Wait();
    return (Now() - begin) / times;
  }
  float milliseconds = 0;
  Check(events_->Record(events_->end, stream_), "cuEventRecord");
  Check(events_->Synchronize(events_->end), "cuEventSynchronize");
  Check(events_->ElapsedTime(&milliseconds, events_->begin, events_->end), "cuEventElapsedTime");
  return 1e-3 * milliseconds / times;
}

Gpu::Repeated Gpu::Repeat(int times, const std::function<void()>& work) const {
  if (events_ == nullptr || events_->BeginCapture == nullptr || !driver().has_graphs) return {work, 1};
  constexpr int kOfThisThread = 1;
  cuda::DriverGraph graph = nullptr;
  cuda::GraphExec exec = nullptr;
  Check(events_->BeginCapture(stream_, kOfThisThread), "cuStreamBeginCapture_v2");
  for (int i = 0; i < times; ++i) work();
  Check(events_->EndCapture(stream_, &graph), "cuStreamEndCapture");
  const cuda::Result made = driver().GraphInstantiateWithFlags(&exec, graph, 0);
  driver().GraphDestroy(graph);
  Check(made, "cuGraphInstantiateWithFlags");
  const std::shared_ptr<void> owner(exec,
                                    [this](void* of) { driver().GraphExecDestroy(static_cast<cuda::GraphExec>(of)); });
  return {[this, owner] {
            Check(driver().GraphLaunch(static_cast<cuda::GraphExec>(owner.get()), stream_), "cuGraphLaunch");
          },
          times};
}

GpuMemory::GpuMemory(const Gpu& gpu, size_t bytes) : gpu_(gpu), bytes_(bytes) {
  gpu.Check(gpu.driver().MemAlloc(&address_, bytes), "cuMemAlloc");
}

GpuMemory::GpuMemory(const Gpu& gpu, const void* from, size_t bytes) : GpuMemory(gpu, bytes) {
  gpu.Check(gpu.driver().MemcpyHtoDAsync(address_, from, bytes, gpu.stream()), "cuMemcpyHtoDAsync");
  gpu.Wait();
}

GpuMemory::GpuMemory(GpuMemory&& other) noexcept
    : gpu_(other.gpu_), bytes_(other.bytes_), address_(std::exchange(other.address_, 0)) {}

GpuMemory::~GpuMemory() {
  if (address_ != 0) gpu_.driver().MemFree(address_);
}

void GpuMemory::Read(void* to) const {
  gpu_.Check(gpu_.driver().MemcpyDtoHAsync(to, address_, bytes_, gpu_.stream()), "cuMemcpyDtoHAsync");
  gpu_.Wait();
}

std::vector<double> TakeTurns(const Gpu& gpu, const std::vector<std::function<void()>>& candidates) {
  std::vector<int> calls;
  for (const auto& candidate : candidates) {
    gpu.SecondsOf(1, candidate);
    const double seconds = gpu.SecondsOf(gpu.emulated() ? 1 : 3, candidate);
    calls.push_back(gpu.emulated() ? 1 : static_cast<int>(std::clamp(kTurnSeconds / seconds, 3.0, double{kMostCalls})));
  }
  std::vector<std::vector<double>> seconds(candidates.size());
  for (int turn = 0; turn < (gpu.emulated() ? 1 : kTurns); ++turn) {
    for (size_t i = 0; i < candidates.size(); ++i) seconds[i].push_back(gpu.SecondsOf(calls[i], candidates[i]));
  }
  std::vector<double> medians;
  for (const auto& own : seconds) medians.push_back(Median(own));
  return medians;
}

}  // namespace tailor::bench
