// PlainConstants: row-major copies of right operands that a program has in panels, for a library that reads no panels.
// Each is made at its first use and kept: memory doubles for those that are asked for, and for no others.
// Thread-safe.
#ifndef TAILOR_EXEC_CUDA_PLAIN_CONSTANTS_H_
#define TAILOR_EXEC_CUDA_PLAIN_CONSTANTS_H_

#include <map>
#include <mutex>

#include "exec/cuda/device.h"
#include "exec/failure.h"
#include "exec/host_abi.h"

namespace tailor {

class PlainConstants {
 public:
  explicit PlainConstants(const CudaDevice& device) : device_(device) {}
  PlainConstants(const PlainConstants&) = delete;
  // Nothing reads the copies any more.
  ~PlainConstants();

  // Points `*plain` to the rhs of `matmul`, panels of 16 columns, as [batch, k, n]. Copies in `stream`, and waits for
  // it, where there is no copy yet. Requires that the device's context is current. RESOURCE_EXHAUSTED where memory is
  // out.
  Failure Get(const GemmArgs& gemm, cuda::Stream stream, const void** plain);

 private:
  cuda::Result Copy(const GemmArgs& gemm, cuda::Address to, cuda::Stream stream) const;

  const CudaDevice& device_;
  std::mutex mutex_;
  std::map<const void*, cuda::Address> copies_;  // by the panels
};

}  // namespace tailor

#endif  // TAILOR_EXEC_CUDA_PLAIN_CONSTANTS_H_
