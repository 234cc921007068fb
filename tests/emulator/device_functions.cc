#include "tests/emulator/device_functions.h"

#include <bit>
#include <cstdint>

#include "tests/emulator/launch.h"

namespace tailor::simt {
namespace {

int32_t ThreadId() { return RunningThread().id; }
int32_t BlockDim() { return RunningGrid().threads; }
int32_t BlockId() { return static_cast<int32_t>(RunningThread().block->id); }
int32_t GridDim() { return static_cast<int32_t>(RunningGrid().blocks); }
void* SharedMemory() { return RunningThread().block->shared; }

// The return address of a function that a kernel calls is the place of the call.
void Barrier() { MeetBlock(__builtin_return_address(0)); }
void GridBarrier(uint32_t* counter) { MeetGrid(counter, __builtin_return_address(0)); }

// A lane's value, then its partner's.
struct ShuffleOperands {
  uint64_t value;
  int32_t lane;
};

void ExchangeLanes(void* const* lanes) {
  uint64_t offered[kWarp];
  for (int i = 0; i < kWarp; ++i) offered[i] = static_cast<ShuffleOperands*>(lanes[i])->value;
  for (int i = 0; i < kWarp; ++i) {
    auto* own = static_cast<ShuffleOperands*>(lanes[i]);
    own->value = offered[own->lane];
  }
}
constexpr WarpOp kShuffle = {"a shuffle", ExchangeLanes};

template <class T, class Bits>
T ShuffleXor(T value, int32_t mask) {
  ShuffleOperands operands = {std::bit_cast<Bits>(value), (RunningThread().id ^ mask) % kWarp};
  MeetWarp(kShuffle, &operands, __builtin_return_address(0));
  return std::bit_cast<T>(static_cast<Bits>(operands.value));
}

}  // namespace

std::vector<DeviceFunction> DeviceFunctions() {
  auto row = [](const char* name, auto* function) { return DeviceFunction{name, reinterpret_cast<void*>(function)}; };
  return {
      row("thread_id", ThreadId),
      row("block_dim", BlockDim),
      row("block_id", BlockId),
      row("grid_dim", GridDim),
      row("shared_memory", SharedMemory),
      row("barrier", Barrier),
      row("grid_barrier", GridBarrier),
      row("shuffle_xor.i8", ShuffleXor<int8_t, uint8_t>),
      row("shuffle_xor.i16", ShuffleXor<int16_t, uint16_t>),
      row("shuffle_xor.i32", ShuffleXor<int32_t, uint32_t>),
      row("shuffle_xor.i64", ShuffleXor<int64_t, uint64_t>),
      row("shuffle_xor.float", ShuffleXor<float, uint32_t>),
      row("shuffle_xor.double", ShuffleXor<double, uint64_t>),
  };
}

}  // namespace tailor::simt
