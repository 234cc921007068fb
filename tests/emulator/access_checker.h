// Detects memory accesses that are undefined on a GPU or rejected by it: out of bounds, less aligned than the
// instruction claims, and races. Two accesses race if two threads make them, neither is ordered before the other, at
// least one writes, and not both are atomic. Order comes from barriers of the block, of some warps or of the grid; and,
// between blocks, from an atomic after a fence, if another block's fence follows.
//
// The clock counts the events that order accesses, over all launches of the process. Every byte of shared memory has a
// cell with its last writer, its readers since, and the times. Every byte of global memory has a cell with its last
// writer only, so there a race is found only in schedules in which the write comes first. Writes of equal bytes to
// global memory do not race.
#ifndef TAILOR_TESTS_EMULATOR_ACCESS_CHECKER_H_
#define TAILOR_TESTS_EMULATOR_ACCESS_CHECKER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "tests/emulator/simt_emulator.h"

namespace tailor::simt {

inline constexpr int kMostWarps = 32;

// The time up to which something is known of each warp of a block.
using WarpClock = std::array<uint32_t, kMostWarps>;

// The time up to which a block knows the actions of other blocks, by block.
using KnownBlocks = std::map<int64_t, uint32_t>;

// One byte of shared memory. Times before the block's last barrier are ignored.
struct SharedCell {
  uint32_t written = 0;
  uint32_t read = 0;
  uint16_t writer = 0;
  uint16_t reader = 0;  // one of the readers
  bool atomic = false;  // the write
  bool copied = false;  // by an asynchronous copy in flight
  bool bulk = false;    // by a bulk copy
  enum class Readers : uint8_t { kOne, kOneWarp, kMany } readers = Readers::kOne;
};

// The checker's state of a live block.
struct BlockOrder {
  uint32_t opened = 0;
  uint32_t barrier = 0;  // the last barrier
  WarpClock warp_barriers = {};
  KnownBlocks known;
  std::vector<SharedCell> cells;
  // For blocks with barriers of some warps: what each warp knows of the others, and when each warp last read each byte.
  bool tracks_warps = false;
  std::array<WarpClock, kMostWarps> known_warps = {};
  std::vector<WarpClock> warp_reads;
};

// The checker's state of a thread.
struct ThreadOrder {
  uint32_t fenced = 0;   // its last fence: earlier actions can be published
  uint32_t proxied = 0;  // its last fence of the async proxy
  KnownBlocks observed;  // learned from atomics, known from its next fence on
};

struct Thread;
struct Block;

// Checks the accesses of the running thread; an unsound one fails the launch (launch.h).
class AccessChecker {
 public:
  enum class Kind : uint8_t { kRead, kWrite, kAtomicRead, kAtomicWrite };

  void OpenLaunch(const FindMemory* find_memory);
  // Of the current launch.
  const SimtTraffic& traffic() const { return traffic_; }
  void OpenBlock(Block& block);
  // Called before a memory access of each kind; Generic: shared or global.
  void Shared(const void* address, uint64_t bytes, Kind kind);
  void Global(const void* address, uint64_t bytes, Kind kind);
  void Generic(const void* address, uint64_t bytes, Kind kind);
  // Called before any memory access that claims `align`, a power of two: a GPU accesses that many bytes at once, and
  // rejects other addresses.
  void Aligned(const void* address, uint64_t align) const;
  // A read by wgmma: it sees threads' stores only after a fence of the async proxy.
  void SharedByProxy(const void* address, uint64_t bytes);
  // The thread's asynchronous copy starts; has written its bytes of shared memory.
  void StartCopy(const void* to, uint64_t bytes, bool bulk = false);
  void FinishCopy(const void* to, uint64_t bytes);
  // Events that order accesses.
  void BlockBarrier(Block& block);
  void WarpBarrier(Block& block, int warp);
  void GridBarrier();
  // The running thread arrives at a barrier with that clock. Release adds to the clock what its warp did and knows;
  // Acquire learns from the clock. Lanes are not distinguished.
  void TrackWarps(Block& block);
  void Release(int warp, WarpClock& clock);
  void Acquire(const WarpClock& clock);
  void Fence();
  void ProxyFence();
  // An atomic access of global memory; if it orders others, it acts as a fence before and after itself.
  void Synchronize(const void* address, bool orders);
  // The running thread is about to wait, or has ended: decides about pending doubtful writes.
  void SettleDoubt();

 private:
  struct GlobalCell {
    uint32_t written = 0;
    uint32_t block = 0;
    uint16_t writer = 0;
    bool atomic = false;
  };
  static constexpr uint64_t kPageBytes = 4096;
  using Page = std::array<GlobalCell, kPageBytes>;
  // A write over bytes that another thread wrote; a race if it changes them.
  struct DoubtfulWrite {
    const std::byte* address = nullptr;
    std::vector<std::byte> before;
    std::string diagnosis;
  };

  bool SharedWriteIsOrdered(const SharedCell& cell, const Thread& thread, bool atomic) const;
  bool SharedReadsAreOrdered(const SharedCell& cell, const Thread& thread) const;
  bool IsKnown(uint32_t time, int warp, const Thread& thread) const;
  bool GlobalWriteIsOrdered(const GlobalCell& cell, const Thread& thread, bool atomic) const;
  bool IsOrderedInBlock(uint32_t time, int other, const Thread& thread) const;
  // An access of the running thread to its block's shared memory.
  struct SharedAccess {
    int64_t offset;
    int64_t bytes;
    Kind kind;
  };

  static bool IsAtomic(Kind kind) { return kind == Kind::kAtomicRead || kind == Kind::kAtomicWrite; }
  static bool Writes(Kind kind) { return kind == Kind::kWrite || kind == Kind::kAtomicWrite; }
  static std::string DescribeAccess(uint64_t bytes, Kind kind);
  bool IsSound(const SharedCell& cell, const Thread& thread, Kind kind) const;
  [[noreturn]] void FailAtSharedByte(const SharedAccess& access, int64_t byte) const;
  void NoteRead(SharedCell& cell, const Thread& thread) const;
  void CheckBounds(const void* address, uint64_t bytes, Kind kind);
  GlobalCell& CellOf(uint64_t address);

  uint32_t now_ = 0;
  uint32_t launched_ = 0;  // time of the launch, or of its last grid barrier
  const FindMemory* find_memory_ = nullptr;
  std::array<SimtMemoryRange, 8> ranges_;  // recently found
  size_t next_range_ = 0;
  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages_;
  std::array<std::pair<uint64_t, Page*>, 64> recent_pages_ = {};
  std::unordered_map<const void*, KnownBlocks> published_;  // by address of the atomic
  DoubtfulWrite doubt_;
  SimtTraffic traffic_;
};

}  // namespace tailor::simt

#endif  // TAILOR_TESTS_EMULATOR_ACCESS_CHECKER_H_
