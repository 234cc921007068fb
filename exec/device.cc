#include "exec/device.h"

#include <string>

#include "exec/cuda_device.h"
#include "exec/cuda_program.h"

namespace tailor {

Failure LoadOnDevice(const Runtime& runtime, const DeviceChoice& choice, const Program& program, const Variant& variant,
                     std::unique_ptr<DeviceProgram>* out) {
  const CudaDevices& devices = CudaDevices::OfThisProcess();
  const std::string wanted = "CUDA device " + std::to_string(choice.ordinal) + " was asked for, but ";
  if (!devices.absence().empty()) return {Code::kFailedPrecondition, wanted + devices.absence(), ""};
  const size_t count = devices.list().size();
  if (choice.ordinal < 0 || static_cast<size_t>(choice.ordinal) >= count) {
    return {Code::kFailedPrecondition, wanted + "the devices are 0 to " + std::to_string(count - 1), ""};
  }
  return CudaProgram::Create(runtime, *devices.list()[choice.ordinal], program, variant, out);
}

}  // namespace tailor
