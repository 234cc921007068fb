#include "exec/cuda/find_device.h"

#include <string>

#include "exec/cuda/device.h"

namespace tailor {

Failure FindDevice(const DeviceChoice& choice, const Device** out) {
  if (choice.kind == DeviceChoice::kCpu) return *out = nullptr, Failure{};
  if (choice.kind != DeviceChoice::kCuda) {
    return {Code::kInvalidArgument, "device is " + std::to_string(choice.kind) + ", not 0 or 1", ""};
  }
  const CudaDevices& devices = CudaDevices::OfThisProcess();
  const std::string wanted = "CUDA device " + std::to_string(choice.ordinal) + " was asked for, but ";
  if (!devices.absence().empty()) return {Code::kFailedPrecondition, wanted + devices.absence(), ""};
  const size_t count = devices.list().size();
  if (choice.ordinal < 0 || static_cast<size_t>(choice.ordinal) >= count) {
    return {Code::kFailedPrecondition, wanted + "the devices are 0 to " + std::to_string(count - 1), ""};
  }
  *out = devices.list()[static_cast<size_t>(choice.ordinal)].get();
  return {};
}

}  // namespace tailor
