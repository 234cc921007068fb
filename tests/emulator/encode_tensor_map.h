// cuTensorMapEncodeTiled for the emulator; it encodes a SimtTensorMap.
#ifndef TAILOR_TESTS_EMULATOR_ENCODE_TENSOR_MAP_H_
#define TAILOR_TESTS_EMULATOR_ENCODE_TENSOR_MAP_H_

#include <cstdint>

#include "exec/cuda/types.h"

namespace tailor {

// Rejects what the driver rejects, with kInvalidValue. Supports the types and fills that Tailor uses.
cuda::Result EncodeTensorMap(cuda::EncodedTensorMap* map, cuda::TensorMapDataType type, uint32_t rank, void* address,
                             const uint64_t* dim_sizes, const uint64_t* strides, const uint32_t* box,
                             const uint32_t* element_strides, cuda::TensorMapInterleave interleave,
                             cuda::TensorMapSwizzle swizzle, cuda::TensorMapL2Promotion promotion,
                             cuda::TensorMapFill fill);

}  // namespace tailor

#endif  // TAILOR_TESTS_EMULATOR_ENCODE_TENSOR_MAP_H_
