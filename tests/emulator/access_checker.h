// Finds accesses of memory that a GPU leaves undefined or refuses: beyond the end, at addresses that are not as aligned
// as the instruction claims, and races. Two accesses race if two threads make them, neither is ordered before the
// other, one writes, and one is not atomic. What orders them: a barrier of the block, of some warps, of the grid; and
// between blocks an atomic behind a fence that another block's fence follows.
//
// The clock counts the events that order accesses, over all launches of the process. Every byte of shared memory has a
// cell that says who wrote it last and who read it since, and when; every byte of global memory one of its last writer,
// so that there a race is found in those orders of threads in which the write comes first. Writes of equal bytes to
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

// Up to when something is known of what each warp of a block did.
using WarpClock = std::array<uint32_t, kMostWarps>;

// Up to when a block knows what other blocks did, by block.
using KnownBlocks = std::map<int64_t, uint32_t>;

// One byte of shared memory. Times before the block's last barrier mean nothing.
struct SharedCell {
  uint32_t written = 0;
  uint32_t read = 0;
  uint16_t writer = 0;
  uint16_t reader = 0;  // one of them
  bool atomic = false;  // the write
  bool copied = false;  // by an asynchronous copy that is under way
  bool bulk = false;    // by a bulk copy
  enum class Readers : uint8_t { kOne, kOneWarp, kMany } readers = Readers::kOne;
};

// What the checker keeps of a block while it lives.
struct BlockOrder {
  uint32_t opened = 0;
  uint32_t barrier = 0;  // the last one
  WarpClock warp_barriers = {};
  KnownBlocks known;
  std::vector<SharedCell> cells;
  // Of blocks whose warps meet at other barriers than the block's: what each warp knows of the others, and when each
  // warp read each byte last.
  bool tracks_warps = false;
  std::array<WarpClock, kMostWarps> known_warps = {};
  std::vector<WarpClock> warp_reads;
};

// What it keeps of a thread.
struct ThreadOrder {
  uint32_t fenced = 0;   // its last fence: what happened before can be published
  uint32_t proxied = 0;  // its last fence of the asynchronous proxy
  KnownBlocks observed;  // what atomics have told it, known from its next fence on
};

struct Thread;
struct Block;

// An access of the thread that runs; each fails the launch (launch.h) if it is not sound.
class AccessChecker {
 public:
  enum class Kind : uint8_t { kRead, kWrite, kAtomicRead, kAtomicWrite };

  void OpenLaunch(const FindMemory* find_memory);
  // Of the launch so far.
  const SimtTraffic& traffic() const { return traffic_; }
  void OpenBlock(Block& block);
  // Before an access of memory of each kind; generic: of either.
  void Shared(const void* address, uint64_t bytes, Kind kind);
  void Global(const void* address, uint64_t bytes, Kind kind);
  void Generic(const void* address, uint64_t bytes, Kind kind);
  // Before an access of memory of any kind that claims `align`, a power of two: a GPU takes so many bytes at once, and
  // refuses them elsewhere.
  void Aligned(const void* address, uint64_t align) const;
  // A read by wgmma: what threads stored, it sees behind a fence of the asynchronous proxy.
  void SharedByProxy(const void* address, uint64_t bytes);
  // The thread's asynchronous copy will write these bytes of shared memory; has written them.
  void StartCopy(const void* to, uint64_t bytes, bool bulk = false);
  void FinishCopy(const void* to, uint64_t bytes);
  // What orders accesses.
  void BlockBarrier(Block& block);
  void WarpBarrier(Block& block, int warp);
  void GridBarrier();
  // The running thread, an arrival at something with that clock, tells what a warp did and knows; learns it there.
  // Lanes are not told apart.
  void TrackWarps(Block& block);
  void Release(int warp, WarpClock& clock);
  void Acquire(const WarpClock& clock);
  void Fence();
  void ProxyFence();
  // An atomic access of global memory, which is a fence before and after itself where it orders others.
  void Synchronize(const void* address, bool orders);
  // The thread that runs is about to wait or has ended: decides about writes whose bytes were to be seen.
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
  // A write over bytes that another thread wrote: a race if it changes them.
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
  // An access of the running thread, at a byte of its block's shared memory.
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
  uint32_t launched_ = 0;  // the launch, or its last barrier of the grid
  const FindMemory* find_memory_ = nullptr;
  std::array<SimtDimSize, 8> dim_sizes_;  // found lately
  size_t next_dim_size_ = 0;
  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages_;
  std::array<std::pair<uint64_t, Page*>, 64> recent_pages_ = {};
  std::unordered_map<const void*, KnownBlocks> published_;  // by the address of an atomic
  DoubtfulWrite doubt_;
  SimtTraffic traffic_;
};

}  // namespace tailor::simt

#endif  // TAILOR_TESTS_EMULATOR_ACCESS_CHECKER_H_
