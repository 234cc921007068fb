#include "tests/emulator/encode_tensor_map.h"

#include <cstring>

#include "tests/emulator/simt_emulator.h"

namespace tailor {

cuda::Result EncodeTensorMap(cuda::EncodedTensorMap* map, cuda::TensorMapDataType type, uint32_t rank, void* address,
                             const uint64_t* dim_sizes, const uint64_t* strides, const uint32_t* box,
                             const uint32_t* element_strides, cuda::TensorMapInterleave interleave,
                             cuda::TensorMapSwizzle swizzle, cuda::TensorMapL2Promotion /*promotion*/,
                             cuda::TensorMapFill fill) {
  constexpr uint64_t kMostDimSize = uint64_t{1} << 32, kMostStride = uint64_t{1} << 40;
  constexpr uint32_t kMostBox = 256, kMostRank = 5, kElementBytes = 2, kUnit = 16;
  bool sound = rank >= 1 && rank <= kMostRank && type == cuda::kTensorUint16 && interleave == cuda::kInterleaveNone &&
               fill == cuda::kFillZeros;
  sound &= reinterpret_cast<uintptr_t>(map) % alignof(cuda::EncodedTensorMap) == 0;
  sound &= reinterpret_cast<uintptr_t>(address) % kUnit == 0;
  SimtTensorMap made;
  for (uint32_t d = 0; sound && d < rank; ++d) {
    sound &=
        dim_sizes[d] > 0 && dim_sizes[d] <= kMostDimSize && box[d] > 0 && box[d] <= kMostBox && element_strides[d] == 1;
    made.dim_sizes[d] = dim_sizes[d];
    made.box[d] = box[d];
    if (d + 1 == rank) break;
    sound &= strides[d] % kUnit == 0 && strides[d] < kMostStride;
    made.strides[d] = strides[d];
  }
  const uint32_t swizzle_bytes = swizzle == cuda::kSwizzleNone ? 0 : kUnit << swizzle;
  const uint32_t row_bytes = box[0] * kElementBytes;
  if (!sound || row_bytes % kUnit != 0 || (swizzle_bytes != 0 && row_bytes > swizzle_bytes)) return cuda::kInvalidValue;
  made.address = reinterpret_cast<uint64_t>(address);
  made.rank = static_cast<uint16_t>(rank);
  made.element_bytes = kElementBytes;
  made.swizzle_bytes = static_cast<uint8_t>(swizzle_bytes);
  std::memcpy(map, &made, sizeof(made));
  return cuda::kSuccess;
}

}  // namespace tailor
