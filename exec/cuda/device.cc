#include "exec/cuda/device.h"

#include "exec/cuda/program.h"

namespace tailor {
namespace {

// Keeps the first failure of a sequence of calls.
class Calls {
 public:
  Calls(const CudaDriver& driver, std::string purpose) : driver_(driver), purpose_(std::move(purpose)) {}
  bool operator()(cuda::Result result, const char* call) {
    if (first_.ok()) first_ = CudaFailure(driver_, result, call, purpose_);
    return first_.ok();
  }
  Failure Take() { return std::move(first_); }

 private:
  const CudaDriver& driver_;
  const std::string purpose_;
  Failure first_;
};

Failure ReadInfo(const CudaDriver& driver, cuda::DeviceNumber device, CudaDevice::Info* info) {
  Calls check(driver, "device " + std::to_string(info->ordinal));
  const auto attribute = [&](cuda::DeviceAttribute which) {
    int value = 0;
    check(driver.DeviceGetAttribute(&value, which, device), "cuDeviceGetAttribute");
    return value;
  };
  char name[256] = "";
  check(driver.DeviceGetName(name, sizeof(name) - 1, device), "cuDeviceGetName");
  size_t bytes = 0;
  check(driver.DeviceTotalMem(&bytes, device), "cuDeviceTotalMem");
  check(driver.DriverGetVersion(&info->driver_version), "cuDriverGetVersion");
  info->name = name;
  info->memory_bytes = bytes;
  info->architecture = {attribute(cuda::kComputeCapabilityMajor), attribute(cuda::kComputeCapabilityMinor),
                        driver.LoadIr != nullptr};
  info->multiprocessors = attribute(cuda::kMultiprocessorCount);
  info->most_shared_bytes = attribute(cuda::kMaxSharedMemoryPerBlockOptin);
  info->memory_pools = attribute(cuda::kMemoryPoolsSupported) != 0;
  if (attribute(cuda::kUnifiedAddressing) == 0) {
    check(cuda::kInvalidDevice, "cuDeviceGetAttribute (no unified addresses)");
  }
  return check.Take();
}

}  // namespace

Failure CudaDevice::Create(const CudaDriver& driver, int ordinal, std::unique_ptr<CudaDevice>* out) {
  cuda::DeviceNumber number = 0;
  Failure f =
      CudaFailure(driver, driver.DeviceGet(&number, ordinal), "cuDeviceGet", "device " + std::to_string(ordinal));
  if (!f.ok()) return f;
  std::unique_ptr<CudaDevice> device(new CudaDevice(driver, number));
  device->info_.ordinal = ordinal;
  if (f = ReadInfo(driver, number, &device->info_); !f.ok()) return f;
  *out = std::move(device);
  return {};
}

Failure CudaDevice::Load(const Runtime& runtime, const Program& program, const Variant& variant,
                         std::unique_ptr<DeviceProgram>* out) const {
  return CudaProgram::Create(runtime, *this, program, variant, out);
}

Failure CudaDevice::RetainContext() const {
  const std::lock_guard lock(retaining_);
  if (context_ != nullptr) return {};
  cuda::Context context = nullptr;
  Failure f = CudaFailure(driver_, driver_.DevicePrimaryCtxRetain(&context, number_), "cuDevicePrimaryCtxRetain",
                          "device " + std::to_string(info_.ordinal));
  if (f.ok()) context_ = context;
  return f;
}

void CudaDevice::TrimPool() const {
  cuda::MemoryPool pool = nullptr;
  if (info_.memory_pools && driver_.DeviceGetDefaultMemPool(&pool, number_) == cuda::kSuccess) {
    driver_.MemPoolTrimTo(pool, 0);
  }
}

CudaDevices::CudaDevices(const std::string& path) {
  if (Failure f = CudaDriver::Load(path, &driver_); !f.ok()) {
    absence_ = std::move(f.message);
    return;
  }
  int count = 0;
  Failure f = CudaFailure(driver_, driver_.DeviceGetCount(&count), "cuDeviceGetCount", "the CUDA driver " + path);
  for (int ordinal = 0; f.ok() && ordinal < count; ++ordinal) {
    std::unique_ptr<CudaDevice> device;
    f = CudaDevice::Create(driver_, ordinal, &device);
    if (f.ok()) list_.push_back(std::move(device));
  }
  if (!f.ok()) list_.clear();
  absence_ = !f.ok() ? std::move(f.message) : list_.empty() ? "the CUDA driver " + path + " has no device" : "";
}

const CudaDevices& CudaDevices::OfThisProcess() {
  static const auto* const devices = new CudaDevices(CudaDriverPath());
  return *devices;
}

}  // namespace tailor
