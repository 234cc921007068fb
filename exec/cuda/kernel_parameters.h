// KernelParameters: what a launch hands to its kernel, one by one: the slots of the argument block; behind them, where
// the kernel loads boxes of tensors, the maps that say where those lie (DeviceKernel::maps). The driver alone knows
// where maps lie among the parameters: it aligns them by their place in constant memory, whose first parameter is not
// so aligned.
#ifndef TAILOR_EXEC_CUDA_KERNEL_PARAMETERS_H_
#define TAILOR_EXEC_CUDA_KERNEL_PARAMETERS_H_

#include <array>
#include <cstdint>
#include <vector>

#include "codegen/contract/program.h"
#include "exec/cuda/driver.h"

namespace tailor {

// One per stream; one call at a time. Allocates at its creation alone.
class KernelParameters {
 public:
  // Both outlive this.
  KernelParameters(const CudaDriver& driver, const std::vector<DeviceKernel>& kernels);

  // Points parameters[i] at parameter i of kernel `number`: in the argument block `args`, or a map, valid until the
  // next call. A map is asked of the driver where its tensor is another than that of the kernel's launch before. Fails
  // as cuTensorMapEncodeTiled does.
  cuda::Result Point(int32_t number, const int64_t* args, void** parameters);

 private:
  using DimSizes = std::array<uint64_t, kTensorMapRank>;
  struct Encoded {
    int64_t address = 0;
    DimSizes dim_sizes = {};  // zeros: none yet
    cuda::EncodedTensorMap map = {};
  };

  cuda::Result Encode(const TensorMap& map, const int64_t* args, Encoded* encoded) const;

  const CudaDriver& driver_;
  const std::vector<DeviceKernel>& kernels_;
  std::vector<size_t> first_;  // by kernel: of its maps in `encoded_`
  std::vector<Encoded> encoded_;
};

}  // namespace tailor

#endif  // TAILOR_EXEC_CUDA_KERNEL_PARAMETERS_H_
