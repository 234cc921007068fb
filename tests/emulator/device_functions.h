// The host's side of `tailor.device.*` (codegen/cuda/device_intrinsics.h): what kernels call when they are emulated.
#ifndef TAILOR_TESTS_EMULATOR_DEVICE_FUNCTIONS_H_
#define TAILOR_TESTS_EMULATOR_DEVICE_FUNCTIONS_H_

#include <vector>

namespace tailor::simt {

struct DeviceFunction {
  const char* name;  // behind the prefix: "barrier"
  void* address;
};

std::vector<DeviceFunction> DeviceFunctions();

}  // namespace tailor::simt

#endif  // TAILOR_TESTS_EMULATOR_DEVICE_FUNCTIONS_H_
