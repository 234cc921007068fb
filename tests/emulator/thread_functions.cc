// Thread indices and synchronisation. The return address of a function that a kernel calls identifies the place of the
// call.
#include "tests/emulator/device_functions.h"
#include "tests/emulator/launch.h"

namespace tailor::simt {
namespace {

void ThreadId(uint64_t* slots) { slots[0] = RunningThread().id; }
void BlockDim(uint64_t* slots) { slots[0] = RunningGrid().threads; }
void BlockId(uint64_t* slots) { slots[0] = RunningThread().block->id; }
void GridDim(uint64_t* slots) { slots[0] = RunningGrid().blocks; }
void SharedMemory(uint64_t* slots) { slots[0] = reinterpret_cast<uint64_t>(RunningThread().block->shared); }

void Barrier(uint64_t*) { SyncBlock(__builtin_return_address(0)); }
void GridBarrier(uint64_t* slots) { SyncGrid(reinterpret_cast<uint32_t*>(slots[0]), __builtin_return_address(0)); }

void Fence(uint64_t*) {
  if (RunningChecker() != nullptr) RunningChecker()->Fence();
}

constexpr WarpOp kWarpBarrier = {"a barrier of the warp", [](uint64_t* const*) {}, /*orders_memory=*/true};
void WarpBarrier(uint64_t* slots) { SyncWarp(kWarpBarrier, slots, __builtin_return_address(0)); }

// slots: the barrier's number, and its number of threads.
void SyncNamed(uint64_t* slots) {
  NamedBarrier& barrier = RunningThread().block->named_barriers[static_cast<uint32_t>(slots[0])];
  AccessChecker* checker = RunningChecker();
  if (checker != nullptr) {
    checker->TrackWarps(*RunningThread().block);
    checker->Release(RunningThread().id / kWarp, barrier.clock);
  }
  const uint32_t meeting = barrier.meetings;
  if (++barrier.arrived == static_cast<uint32_t>(slots[1])) {
    barrier.arrived = 0;
    ++barrier.meetings;
  }
  RunningThread().waits_at = "a named barrier";
  while (barrier.meetings == meeting) Spin();
  RunningThread().waits_at = nullptr;
  if (checker != nullptr) checker->Acquire(barrier.clock);
}

void FenceAsyncProxy(uint64_t*) {
  if (RunningChecker() != nullptr) RunningChecker()->ProxyFence();
}

// No-ops for fibers: register counts, and the visibility of initialised mbarriers to copies.
void DoNothing(uint64_t*) {}

// slots[0]: a lane's value; slots[1]: the lane whose value it takes; -1: its own.
constexpr WarpOp kShuffle = {"a shuffle", [](uint64_t* const* lanes) {
                               uint64_t offered[kWarp];
                               for (int i = 0; i < kWarp; ++i) offered[i] = lanes[i][0];
                               for (int i = 0; i < kWarp; ++i) lanes[i][0] = offered[lanes[i][1]];
                             }};
int Lane() { return RunningThread().id % kWarp; }
int Operand(uint64_t slot) { return static_cast<int32_t>(slot); }

void ShuffleXor(uint64_t* slots) {
  slots[1] = (Lane() ^ Operand(slots[1])) % kWarp;
  SyncWarp(kShuffle, slots, __builtin_return_address(0));
}
void ShuffleDown(uint64_t* slots) {
  const int from = Lane() + Operand(slots[1]);
  slots[1] = from < kWarp ? from : Lane();
  SyncWarp(kShuffle, slots, __builtin_return_address(0));
}
void ShuffleIndex(uint64_t* slots) {
  slots[1] = static_cast<uint32_t>(slots[1]) % kWarp;
  SyncWarp(kShuffle, slots, __builtin_return_address(0));
}

constexpr WarpOp kBallot = {"a ballot", [](uint64_t* const* lanes) {
                              uint64_t bits = 0;
                              for (int i = 0; i < kWarp; ++i) bits |= (lanes[i][0] & 1) << i;
                              for (int i = 0; i < kWarp; ++i) lanes[i][0] = bits;
                            }};
void Ballot(uint64_t* slots) { SyncWarp(kBallot, slots, __builtin_return_address(0)); }

}  // namespace

std::span<const NamedDeviceFunction> ThreadFunctions() {
  static constexpr NamedDeviceFunction kFunctions[] = {
      {"thread_id", ThreadId},
      {"thread_id_here", ThreadId},
      {"block_dim", BlockDim},
      {"block_id", BlockId},
      {"grid_dim", GridDim},
      {"shared_memory", SharedMemory},
      {"barrier", Barrier},
      {"grid_barrier", GridBarrier},
      {"warp_barrier", WarpBarrier},
      {"fence", Fence},
      {"shuffle_xor", ShuffleXor},
      {"shuffle_down", ShuffleDown},
      {"shuffle_idx", ShuffleIndex},
      {"ballot", Ballot},
      {"named_barrier", SyncNamed},
      {"registers_up", DoNothing},
      {"registers_down", DoNothing},
      {"fence_mbarrier_init", DoNothing},
      {"fence_async_proxy", FenceAsyncProxy},
  };
  return kFunctions;
}

}  // namespace tailor::simt
