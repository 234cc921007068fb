// CudaDevice: a GPU of this machine and its primary context, which Tailor shares with all other users of the device in
// the process. Immutable and thread-safe; lives as long as the process.
#ifndef TAILOR_EXEC_CUDA_DEVICE_H_
#define TAILOR_EXEC_CUDA_DEVICE_H_

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "exec/cuda/driver.h"
#include "exec/cuda/image.h"
#include "exec/cuda/types.h"
#include "exec/device.h"
#include "exec/failure.h"

namespace tailor {

class CudaDevice : public Device {
 public:
  struct Info {
    std::string name;
    int ordinal = 0;
    CudaArchitecture architecture;
    uint64_t memory_bytes = 0;
    int multiprocessors = 0;
    int driver_version = 0;     // CUDA version that the driver supports; 12040 is 12.4
    int most_shared_bytes = 0;  // maximum per block
    bool memory_pools = false;  // supports stream-ordered allocation
  };

  // Reads the device's properties. Failures are the driver's.
  static Failure Create(const CudaDriver& driver, int ordinal, std::unique_ptr<CudaDevice>* out);
  CudaDevice(const CudaDevice&) = delete;

  const CudaDriver& driver() const { return driver_; }
  const Info& info() const { return info_; }
  cuda::DeviceNumber number() const { return number_; }

  Failure Load(const Runtime& runtime, const Program& program, const Variant& variant,
               std::unique_ptr<DeviceProgram>* out) const override;

  // Retains the primary context, once: at the first successful call.
  Failure RetainContext() const;
  // Requires a successful RetainContext.
  cuda::Context context() const { return context_; }

  // Releases unused memory of the device's pool, for other allocations.
  void TrimPool() const;

 private:
  CudaDevice(const CudaDriver& driver, cuda::DeviceNumber number) : driver_(driver), number_(number) {}

  const CudaDriver& driver_;
  const cuda::DeviceNumber number_;
  Info info_;
  mutable std::mutex retaining_;
  mutable cuda::Context context_ = nullptr;
};

// Makes a device's context current on the calling thread within a scope.
class CurrentContext {
 public:
  explicit CurrentContext(const CudaDevice& device) : driver_(device.driver()) {
    if (driver_.CtxGetCurrent(&before_) == cuda::kSuccess && before_ == device.context()) return;
    changed_ = driver_.CtxSetCurrent(device.context()) == cuda::kSuccess;
  }
  CurrentContext(const CurrentContext&) = delete;
  ~CurrentContext() {
    if (changed_) driver_.CtxSetCurrent(before_);
  }

 private:
  const CudaDriver& driver_;
  cuda::Context before_ = nullptr;
  bool changed_ = false;
};

// The CUDA devices of one driver, or the reason why there are none.
class CudaDevices {
 public:
  // The devices of the driver at `path`.
  explicit CudaDevices(const std::string& path);
  CudaDevices(const CudaDevices&) = delete;
  // The devices of CudaDriverPath(), found at the first call.
  static const CudaDevices& OfThisProcess();

  // "" if there is a device.
  const std::string& absence() const { return absence_; }
  const std::vector<std::unique_ptr<CudaDevice>>& list() const { return list_; }

 private:
  CudaDriver driver_;
  std::vector<std::unique_ptr<CudaDevice>> list_;
  std::string absence_;
};

}  // namespace tailor

#endif  // TAILOR_EXEC_CUDA_DEVICE_H_
