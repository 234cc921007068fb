// TensorMap: the description of a tensor for TMA copies (CUtensorMap of the CUDA Driver API). Plain data, part of the
// contract of codegen/contract/program.h.
#ifndef TAILOR_CODEGEN_CONTRACT_TENSOR_MAP_H_
#define TAILOR_CODEGEN_CONTRACT_TENSOR_MAP_H_

#include <array>
#include <cstdint>
#include <vector>

namespace tailor {

inline constexpr int kTensorMapRank = 3;
inline constexpr int kTensorMapBytes = 128;
inline constexpr int kTensorMapAlignment = 64;

// A factor of the size of dim `dim`: ceil(parameter `slot` / number), or `number` if slot is -1.
struct TensorMapFactor {
  int32_t dim = 0;
  int32_t slot = -1;
  int64_t number = 1;
  friend bool operator==(const TensorMapFactor&, const TensorMapFactor&) = default;
};

// Describes a dense tensor of 16-bit elements in device memory, innermost dim first. The runtime makes the CUtensorMap
// from a launch's parameters and passes it after them. Elements outside the tensor load as zeros. If TMA cannot read
// the tensor (its address or row bytes are not multiples of 16), the map is all zero bytes.
struct TensorMap {
  int32_t address = 0;                   // index of the parameter that holds the tensor's address
  std::vector<TensorMapFactor> factors;  // a dim without a factor has size 1
  std::array<int32_t, kTensorMapRank> box = {1, 1, 1};
  // XOR swizzle of 16-byte chunks: 32, 64 or 128 bytes, the length of the box's rows. 0: none.
  int32_t swizzle_bytes = 0;
  friend bool operator==(const TensorMap&, const TensorMap&) = default;
};

}  // namespace tailor

#endif  // TAILOR_CODEGEN_CONTRACT_TENSOR_MAP_H_
