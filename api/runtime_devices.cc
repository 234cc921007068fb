// The devices on which executables can run.
#include <sys/sysinfo.h>

#include <string>

#include "api/handle.h"
#include "api/runtime_handles.h"
#include "api/runtime_status.h"
#include "exec/cpu_features.h"
#include "exec/cuda/device.h"
#include "exec/cuda/find_device.h"

using tailor::CheckPointer;
using tailor::CudaDevices;
using tailor::Failure;
using tailor::HandleKind;

static_assert(TAILOR_DEVICE_CPU == tailor::DeviceChoice::kCpu && TAILOR_DEVICE_CUDA == tailor::DeviceChoice::kCuda);

namespace {

uint64_t HostMemory() {
  struct sysinfo info = {};
  return sysinfo(&info) == 0 ? uint64_t{info.totalram} * info.mem_unit : 0;
}

tailor_device_info CpuInfo() {
  tailor_device_info info;
  tailor_device_info_init(&info);
  info.kind = TAILOR_DEVICE_CPU;
  info.name = tailor::CpuLevel(tailor::ThisCpu()).data();  // static: data of a literal
  info.memory_bytes = HostMemory();
  return info;
}

tailor_device_info CudaInfo(const tailor::CudaDevice::Info& from) {
  tailor_device_info info;
  tailor_device_info_init(&info);
  info.kind = TAILOR_DEVICE_CUDA;
  info.ordinal = from.ordinal;
  info.name = from.name.c_str();
  info.major = from.architecture.major;
  info.minor = from.architecture.minor;
  info.processors = from.multiprocessors;
  info.driver = from.driver_version;
  info.memory_bytes = from.memory_bytes;
  return info;
}

bool IsRuntime(const tailor_runtime* runtime) {
  return runtime == nullptr || tailor::IsHandle(runtime, HandleKind::kRuntime);
}

}  // namespace

size_t tailor_runtime_device_count(const tailor_runtime* runtime) {
  if (!IsRuntime(runtime)) return 0;
  try {
    return 1 + CudaDevices::OfThisProcess().list().size();
  } catch (...) {
    return 1;  // memory is out
  }
}

tailor_status* tailor_runtime_device(const tailor_runtime* runtime, size_t index, tailor_device_info* out) {
  constexpr auto kFunction = "tailor_runtime_device";
  if (!IsRuntime(runtime)) return tailor::CheckHandle(kFunction, "runtime", runtime, HandleKind::kRuntime);
  if (auto* bad = CheckPointer(kFunction, "out", out)) return bad;
  if (index == 0) return tailor::WriteInfo(kFunction, CpuInfo(), out);
  tailor_device_info info;
  auto* bad = tailor::Guarded([&]() -> Failure {
    const auto& list = CudaDevices::OfThisProcess().list();
    if (index > list.size()) {
      return {tailor::Code::kOutOfRange,
              std::string(kFunction) + ": index is " + std::to_string(index) + ", but there are " +
                  std::to_string(1 + list.size()),
              ""};
    }
    info = CudaInfo(list[index - 1]->info());
    return {};
  });
  return bad != nullptr ? bad : tailor::WriteInfo(kFunction, info, out);
}

const char* tailor_runtime_cuda_absence(const tailor_runtime* runtime) {
  if (!IsRuntime(runtime)) return "the handle is not a tailor_runtime";
  try {
    return CudaDevices::OfThisProcess().absence().c_str();
  } catch (...) {
    return "out of memory";
  }
}
