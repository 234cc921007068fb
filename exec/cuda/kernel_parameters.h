// KernelParameters: the parameters of a launch, one by one: the slots of the argument block, then the tensor maps of a
// kernel that uses TMA (DeviceKernel::maps). They are passed one by one because the driver places the maps: it aligns
// each by its address in constant memory, where the first parameter is not so aligned.
#ifndef TAILOR_EXEC_CUDA_KERNEL_PARAMETERS_H_
#define TAILOR_EXEC_CUDA_KERNEL_PARAMETERS_H_

#include <array>
#include <cstdint>
#include <vector>

#include "codegen/contract/program.h"
#include "exec/cuda/driver.h"

namespace tailor {

// One per stream; one call at a time. Allocates only in its constructor.
class KernelParameters {
 public:
  // Both outlive this.
  KernelParameters(const CudaDriver& driver, const std::vector<DeviceKernel>& kernels);

  // Points parameters[i] at parameter i of kernel `number`: in the argument block `args`, or a tensor map that is valid
  // until the next call. A map is encoded again only if its tensor differs from that of the kernel's last launch. Fails
  // as cuTensorMapEncodeTiled does.
  cuda::Result Point(int32_t number, const int64_t* args, void** parameters);

 private:
  using DimSizes = std::array<uint64_t, kTensorMapRank>;
  struct Encoded {
    int64_t address = 0;
    DimSizes dim_sizes = {};  // zeros: not encoded yet
    cuda::EncodedTensorMap map = {};
  };

  cuda::Result Encode(const TensorMap& map, const int64_t* args, Encoded* encoded) const;

  const CudaDriver& driver_;
  const std::vector<DeviceKernel>& kernels_;
  std::vector<size_t> first_;  // by kernel: index of its first map in `encoded_`
  std::vector<Encoded> encoded_;
};

}  // namespace tailor

#endif  // TAILOR_EXEC_CUDA_KERNEL_PARAMETERS_H_
