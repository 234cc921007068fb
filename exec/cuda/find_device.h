// Finds devices by kind and ordinal.
#ifndef TAILOR_EXEC_CUDA_FIND_DEVICE_H_
#define TAILOR_EXEC_CUDA_FIND_DEVICE_H_

#include <cstdint>

#include "exec/device.h"
#include "exec/failure.h"

namespace tailor {

// The device on which an executable is to run.
struct DeviceChoice {
  enum Kind : int32_t { kCpu = 0, kCuda = 1 };  // numbers as TAILOR_DEVICE_* of the C ABI
  int32_t kind = kCpu;
  int32_t ordinal = 0;  // index within the kind
};

// The chosen device; null for the CPU. FAILED_PRECONDITION with the reason if there is none.
Failure FindDevice(const DeviceChoice& choice, const Device** out);

}  // namespace tailor

#endif  // TAILOR_EXEC_CUDA_FIND_DEVICE_H_
