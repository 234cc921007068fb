// KernelParameters: what a launch hands to its kernel. That is the argument block as it stands; behind it, where the
// kernel loads boxes of tensors, the maps that say where those lie (DeviceKernel::maps).
#ifndef TAILOR_EXEC_KERNEL_PARAMETERS_H_
#define TAILOR_EXEC_KERNEL_PARAMETERS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "codegen/program.h"
#include "exec/cuda_driver.h"

namespace tailor {

// One per stream; one call at a time. Allocates at its creation alone.
class KernelParameters {
 public:
  // Both outlive this.
  KernelParameters(const CudaDriver& driver, const std::vector<DeviceKernel>& kernels);

  // Points `*out` at the `*bytes` bytes that kernel `number` gets for the argument block `args`, valid until the next
  // call. A map is asked of the driver where its tensor is another than that of the kernel's launch before. Fails as
  // cuTensorMapEncodeTiled does.
  cuda::Result Make(int32_t number, const int64_t* args, const void** out, size_t* bytes);
  // Likewise, one by one: points parameters[i] at parameter i, of `args` or a map.
  cuda::Result Point(int32_t number, const int64_t* args, void** parameters);

 private:
  using Extents = std::array<uint64_t, kTensorMapRank>;
  struct Encoded {
    int64_t address = 0;
    Extents extents = {};  // zeros: none yet
    cuda::TensorMap map = {};
  };

  cuda::Result EncodeAll(int32_t number, const int64_t* args);
  cuda::Result Encode(const TensorMap& map, const int64_t* args, Encoded* encoded) const;

  const CudaDriver& driver_;
  const std::vector<DeviceKernel>& kernels_;
  std::vector<size_t> first_;  // by kernel: of its maps in `encoded_`
  std::vector<Encoded> encoded_;
  std::vector<cuda::TensorMap> buffer_;  // aligned as maps are
};

}  // namespace tailor

#endif  // TAILOR_EXEC_KERNEL_PARAMETERS_H_
