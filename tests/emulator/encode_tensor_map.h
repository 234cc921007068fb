// cuTensorMapEncodeTiled, for the emulator: maps are SimtTensorMap.
#ifndef TAILOR_TESTS_EMULATOR_ENCODE_TENSOR_MAP_H_
#define TAILOR_TESTS_EMULATOR_ENCODE_TENSOR_MAP_H_

#include <cstdint>

#include "exec/cuda/types.h"

namespace tailor {

// Refuses what the driver refuses, with kInvalidValue; of its types and fills it has those that Tailor uses.
cuda::Result EncodeTensorMap(cuda::EncodedTensorMap* map, cuda::TensorMapDataType type, uint32_t rank, void* address,
                             const uint64_t* dim_sizes, const uint64_t* strides, const uint32_t* box,
                             const uint32_t* element_strides, cuda::TensorMapInterleave interleave,
                             cuda::TensorMapSwizzle swizzle, cuda::TensorMapL2Promotion promotion,
                             cuda::TensorMapFill fill);

}  // namespace tailor

#endif  // TAILOR_TESTS_EMULATOR_ENCODE_TENSOR_MAP_H_
