#include "exec/kernel_parameters.h"

#include <algorithm>
#include <cstring>

namespace tailor {
namespace {

static_assert(sizeof(cuda::TensorMap) == kTensorMapBytes && alignof(cuda::TensorMap) % kTensorMapAlignment == 0);

// Where the first map lies.
size_t MapsBegin(const DeviceKernel& kernel) {
  const size_t bytes = kernel.parameters * sizeof(int64_t);
  return (bytes + kTensorMapAlignment - 1) / kTensorMapAlignment * kTensorMapAlignment;
}

size_t AllBytes(const DeviceKernel& kernel) { return MapsBegin(kernel) + kernel.maps.size() * kTensorMapBytes; }

cuda::TensorMapSwizzle SwizzleOf(const TensorMap& map) {
  return map.swizzle_bytes == 128  ? cuda::kSwizzle128Bytes
         : map.swizzle_bytes == 64 ? cuda::kSwizzle64Bytes
                                   : cuda::kSwizzle32Bytes;
}

}  // namespace

KernelParameters::KernelParameters(const CudaDriver& driver, const std::vector<DeviceKernel>& kernels)
    : driver_(driver), kernels_(kernels) {
  size_t maps = 0, most = 0;
  for (const DeviceKernel& kernel : kernels) {
    first_.push_back(maps);
    maps += kernel.maps.size();
    if (!kernel.maps.empty()) most = std::max(most, AllBytes(kernel));
  }
  encoded_.resize(maps);
  buffer_.resize((most + kTensorMapBytes - 1) / kTensorMapBytes);
}

cuda::Result KernelParameters::EncodeAll(int32_t number, const int64_t* args) {
  const std::vector<TensorMap>& maps = kernels_[number].maps;
  for (size_t i = 0; i < maps.size(); ++i) {
    const auto result = Encode(maps[i], args, &encoded_[first_[number] + i]);
    if (result != cuda::kSuccess) return result;
  }
  return cuda::kSuccess;
}

cuda::Result KernelParameters::Make(int32_t number, const int64_t* args, const void** out, size_t* bytes) {
  const DeviceKernel& kernel = kernels_[number];
  *out = args;
  *bytes = kernel.parameters * sizeof(int64_t);
  if (kernel.maps.empty()) return cuda::kSuccess;
  if (const auto result = EncodeAll(number, args); result != cuda::kSuccess) return result;
  auto* buffer = reinterpret_cast<std::byte*>(buffer_.data());
  std::memcpy(buffer, args, *bytes);
  for (size_t i = 0; i < kernel.maps.size(); ++i) {
    std::memcpy(buffer + MapsBegin(kernel) + i * kTensorMapBytes, &encoded_[first_[number] + i].map, kTensorMapBytes);
  }
  *out = buffer;
  *bytes = AllBytes(kernel);
  return cuda::kSuccess;
}

cuda::Result KernelParameters::Point(int32_t number, const int64_t* args, void** parameters) {
  const DeviceKernel& kernel = kernels_[number];
  for (int32_t i = 0; i < kernel.parameters; ++i) parameters[i] = const_cast<int64_t*>(&args[i]);
  for (size_t i = 0; i < kernel.maps.size(); ++i) {
    parameters[kernel.parameters + i] = &encoded_[first_[number] + i].map;
  }
  return EncodeAll(number, args);
}

cuda::Result KernelParameters::Encode(const TensorMap& map, const int64_t* args, Encoded* encoded) const {
  constexpr uint64_t kElementBytes = 2, kUnit = 16;
  Extents extents = {1, 1, 1};
  for (const TensorMapFactor& f : map.factors) {
    extents[f.dim] *= f.slot < 0 ? f.number : (args[f.slot] + f.number - 1) / f.number;
  }
  for (uint64_t& extent : extents) extent = std::max<uint64_t>(extent, 1);  // of a tensor that no one loads from
  const int64_t address = args[map.address];
  if (address == encoded->address && extents == encoded->extents) return cuda::kSuccess;
  *encoded = {};
  const uint64_t strides[] = {extents[0] * kElementBytes, extents[0] * extents[1] * kElementBytes};
  if (address % kUnit == 0 && strides[0] % kUnit == 0) {
    const uint32_t box[] = {static_cast<uint32_t>(map.box[0]), static_cast<uint32_t>(map.box[1]),
                            static_cast<uint32_t>(map.box[2])};
    constexpr uint32_t kSideBySide[] = {1, 1, 1};
    const auto result = driver_.TensorMapEncodeTiled(
        &encoded->map, cuda::kTensorUint16, kTensorMapRank, reinterpret_cast<void*>(address), extents.data(), strides,
        box, kSideBySide, cuda::kInterleaveNone, SwizzleOf(map), cuda::kL2Promotion256Bytes, cuda::kFillZeros);
    if (result != cuda::kSuccess) return result;
  }
  encoded->address = address;
  encoded->extents = extents;
  return cuda::kSuccess;
}

}  // namespace tailor
