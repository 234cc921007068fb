// RowMajorConstants: row-major copies of a program's constant rhs panels, for a library that does not read panels. Each
// copy is made at its first use and kept, so that only used constants take double memory. Thread-safe.
#ifndef TAILOR_EXEC_CUDA_ROW_MAJOR_CONSTANTS_H_
#define TAILOR_EXEC_CUDA_ROW_MAJOR_CONSTANTS_H_

#include <map>
#include <mutex>

#include "exec/cuda/device.h"
#include "exec/failure.h"
#include "exec/host_abi.h"

namespace tailor {

class RowMajorConstants {
 public:
  explicit RowMajorConstants(const CudaDevice& device) : device_(device) {}
  RowMajorConstants(const RowMajorConstants&) = delete;
  // Requires that nothing reads the copies any more.
  ~RowMajorConstants();

  // Points `*plain` to the rhs of `gemm`, given in panels of 16 columns, as row-major [batch, k, n]. Makes the copy in
  // `stream`, and waits for it, if there is none yet. Requires that the device's context is current. RESOURCE_EXHAUSTED
  // if memory is out.
  Failure Get(const GemmArgs& gemm, cuda::Stream stream, const void** plain);

 private:
  cuda::Result Copy(const GemmArgs& gemm, cuda::Address to, cuda::Stream stream) const;

  const CudaDevice& device_;
  std::mutex mutex_;
  std::map<const void*, cuda::Address> copies_;  // by panel address
};

}  // namespace tailor

#endif  // TAILOR_EXEC_CUDA_ROW_MAJOR_CONSTANTS_H_
