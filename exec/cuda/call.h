// CudaCall: a call of the CUDA driver and its result.
#ifndef TAILOR_EXEC_CUDA_CALL_H_
#define TAILOR_EXEC_CUDA_CALL_H_

#include <cstdint>

#include "exec/cuda/types.h"
#include "exec/host_abi.h"

namespace tailor {

// Plain numbers, so that recording it allocates nothing.
struct CudaCall {
  cuda::Result result = cuda::kSuccess;
  const char* call = "";
  int32_t kernel = -1;  // the DeviceKernel to launch, on this grid; -1: none
  LaunchGrid grid = {};

  bool ok() const { return result == cuda::kSuccess; }
};

}  // namespace tailor

#endif  // TAILOR_EXEC_CUDA_CALL_H_
