#include "exec/cuda/kernel_parameters.h"

#include <algorithm>

namespace tailor {
namespace {

static_assert(sizeof(cuda::EncodedTensorMap) == kTensorMapBytes &&
              alignof(cuda::EncodedTensorMap) % kTensorMapAlignment == 0);

cuda::TensorMapSwizzle SwizzleOf(const TensorMap& map) {
  return map.swizzle_bytes == 128  ? cuda::kSwizzle128Bytes
         : map.swizzle_bytes == 64 ? cuda::kSwizzle64Bytes
         : map.swizzle_bytes == 32 ? cuda::kSwizzle32Bytes
                                   : cuda::kSwizzleNone;
}

}  // namespace

KernelParameters::KernelParameters(const CudaDriver& driver, const std::vector<DeviceKernel>& kernels)
    : driver_(driver), kernels_(kernels) {
  size_t maps = 0;
  for (const DeviceKernel& kernel : kernels) {
    first_.push_back(maps);
    maps += kernel.maps.size();
  }
  encoded_.resize(maps);
}

cuda::Result KernelParameters::Point(int32_t number, const int64_t* args, void** parameters) {
  const DeviceKernel& kernel = kernels_[number];
  for (int32_t i = 0; i < kernel.parameters; ++i) parameters[i] = const_cast<int64_t*>(&args[i]);
  for (size_t i = 0; i < kernel.maps.size(); ++i) {
    Encoded& encoded = encoded_[first_[number] + i];
    if (const auto result = Encode(kernel.maps[i], args, &encoded); result != cuda::kSuccess) return result;
    parameters[kernel.parameters + i] = &encoded.map;
  }
  return cuda::kSuccess;
}

cuda::Result KernelParameters::Encode(const TensorMap& map, const int64_t* args, Encoded* encoded) const {
  constexpr uint64_t kElementBytes = 2, kUnit = 16;
  DimSizes dim_sizes = {1, 1, 1};
  for (const TensorMapFactor& f : map.factors) {
    dim_sizes[f.dim] *= f.slot < 0 ? f.number : (args[f.slot] + f.number - 1) / f.number;
  }
  for (uint64_t& dim_size : dim_sizes)
    dim_size = std::max<uint64_t>(dim_size, 1);  // an empty tensor, from which nothing is loaded
  const int64_t address = args[map.address];
  if (address == encoded->address && dim_sizes == encoded->dim_sizes) return cuda::kSuccess;
  *encoded = {};
  const uint64_t strides[] = {dim_sizes[0] * kElementBytes, dim_sizes[0] * dim_sizes[1] * kElementBytes};
  if (address % kUnit == 0 && strides[0] % kUnit == 0) {
    const uint32_t box[] = {static_cast<uint32_t>(map.box[0]), static_cast<uint32_t>(map.box[1]),
                            static_cast<uint32_t>(map.box[2])};
    constexpr uint32_t kSideBySide[] = {1, 1, 1};
    const auto result = driver_.TensorMapEncodeTiled(
        &encoded->map, cuda::kTensorUint16, kTensorMapRank, reinterpret_cast<void*>(address), dim_sizes.data(), strides,
        box, kSideBySide, cuda::kInterleaveNone, SwizzleOf(map), cuda::kL2Promotion256Bytes, cuda::kFillZeros);
    if (result != cuda::kSuccess) return result;
  }
  encoded->address = address;
  encoded->dim_sizes = dim_sizes;
  return cuda::kSuccess;
}

}  // namespace tailor
