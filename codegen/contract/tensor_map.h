// TensorMap: how a kernel that loads boxes of a tensor has it described to the machine that copies them (a CUtensorMap
// of the CUDA Driver API). Plain data: part of the contract that codegen/contract/program.h is.
#ifndef TAILOR_CODEGEN_CONTRACT_TENSOR_MAP_H_
#define TAILOR_CODEGEN_CONTRACT_TENSOR_MAP_H_

#include <array>
#include <cstdint>
#include <vector>

namespace tailor {

inline constexpr int kTensorMapRank = 3;
inline constexpr int kTensorMapBytes = 128;
inline constexpr int kTensorMapAlignment = 64;

// A factor of the size of dim `dim`: ceil(parameter `slot` / number), or, where slot is -1, number.
struct TensorMapFactor {
  int32_t dim = 0;
  int32_t slot = -1;
  int64_t number = 1;
  friend bool operator==(const TensorMapFactor&, const TensorMapFactor&) = default;
};

// Of a dense tensor of 16-bit elements in the device's memory, innermost dim first. The runtime makes the map of it
// from a launch's parameters and passes it behind them. What lies outside the tensor is loaded as zeros. A tensor that
// copies cannot read, since its address or a row's bytes are no multiple of 16, has a map of zero bytes.
struct TensorMap {
  int32_t address = 0;                   // the parameter that is the tensor's address
  std::vector<TensorMapFactor> factors;  // a dim that has none is 1
  std::array<int32_t, kTensorMapRank> box = {1, 1, 1};
  // 32, 64 or 128: the bytes of the box's rows, whose chunks of 16 bytes change places. 0: they do not.
  int32_t swizzle_bytes = 0;
  friend bool operator==(const TensorMap&, const TensorMap&) = default;
};

}  // namespace tailor

#endif  // TAILOR_CODEGEN_CONTRACT_TENSOR_MAP_H_
