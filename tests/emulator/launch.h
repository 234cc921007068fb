// One launch of a kernel: its blocks, warps and threads, and their synchronisation. The functions called by device
// functions (device_functions.h) refer to the running thread.
#ifndef TAILOR_TESTS_EMULATOR_LAUNCH_H_
#define TAILOR_TESTS_EMULATOR_LAUNCH_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/emulator/access_checker.h"
#include "tests/emulator/fibers.h"
#include "tests/emulator/simt_emulator.h"
#include "tests/emulator/transaction_barriers.h"
#include "tests/emulator/warpgroups.h"

namespace tailor::simt {

inline constexpr int kWarp = 32;
inline int WarpOf(int thread) { return thread / kWarp; }
inline constexpr int kMostLanes = 128;
// Fill of unwritten shared memory: NaN in every float type.
inline constexpr int kUnwritten = 0xff;

// An operation that the lanes of a warp, or of a warpgroup, execute together once all have arrived.
struct WarpOp {
  const char* name;
  void (*run)(uint64_t* const* lanes);  // lanes[i]: the slots that lane i passed to SyncWarp
  bool orders_memory = false;           // between the lanes
  int lanes = kWarp;                    // of aligned warps: the first one's number is a multiple of theirs
};

struct Thread {
  enum class State : uint8_t { kReady, kAtWarpOp, kAtBarrier, kAtGridBarrier, kDone };
  int id = 0;  // in its block
  State state = State::kReady;
  Block* block = nullptr;
  const void* place = nullptr;     // the call at which the thread waits
  const char* waits_at = nullptr;  // while it spins: the reason
  const WarpOp* op = nullptr;
  uint64_t* slots = nullptr;  // of `op`
  Fiber fiber;
  void* stack = nullptr;
  std::vector<AsyncCopy> copies;  // oldest first
  int64_t copy_groups = 0;        // committed ones; new copies belong to the next
  ThreadOrder order;
  bool wgmma_fenced = false;  // its registers may be used as accumulators

  bool OwnsStack(const void* address) const {
    const auto* top = static_cast<const char*>(stack);
    return address < top && address >= top - StackPool::kBytes;
  }
};

struct Block {
  int64_t id = 0;
  std::vector<Thread> threads;
  std::byte* shared = nullptr;  // the dynamic shared memory, 1024-byte aligned
  std::unique_ptr<std::byte[]> memory;
  BlockOrder order;
  std::map<uint64_t, TransactionBarrier> transaction_barriers;  // by address
  std::map<uint32_t, NamedBarrier> named_barriers;
  std::map<int, Warpgroup> warpgroups;
};

using KernelEntry = void (*)(const int64_t* slots);

// As SimtEmulator::Launch. One launch at a time per process.
std::string RunLaunch(const std::string& kernel, KernelEntry entry, const SimtGrid& grid, const int64_t* slots,
                      uint32_t seed, const SimtOptions& options);

// State of the running thread.
Thread& RunningThread();
const SimtGrid& RunningGrid();
AccessChecker* RunningChecker();  // null if accesses are not checked
// Ends the launch with this diagnosis, to which the kernel's name is added; does not return.
[[noreturn]] void Fail(std::string what);
// "block 3, thread 17"
std::string NameOf(const Thread& thread);

// Each waits until the other threads have arrived at the same `place`, an address in the kernel's code.
void SyncWarp(const WarpOp& op, uint64_t* slots, const void* place);
void SyncBlock(const void* place);
// `counter` is zero except for its highest bit, before and after.
void SyncGrid(uint32_t* counter, const void* place);
// Lets other threads run before the thread reads memory that they may change: threads may wait for each other by
// atomics.
void Spin();

}  // namespace tailor::simt

#endif  // TAILOR_TESTS_EMULATOR_LAUNCH_H_
