// OutputPool: the memory of a session's outputs, used again by its later runs.
#ifndef TAILOR_EXEC_OUTPUT_POOL_H_
#define TAILOR_EXEC_OUTPUT_POOL_H_

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "exec/memory.h"

namespace tailor {

// Thread-safe: a taken output is freed on any thread. New memory costs a page fault for each page that a run writes,
// which for a cache of keys and values takes as long as the run. In a child of fork() a pool that another thread was
// using at the fork keeps nothing.
class OutputPool {
 public:
  static constexpr size_t kMostBlocks = 256;  // that are kept

  // `allocator` and `counters` outlive the pool; bytes that it keeps count in `counters`.
  OutputPool(const Allocator& allocator, MemoryCounters* counters);
  OutputPool(const OutputPool&) = delete;
  OutputPool& operator=(const OutputPool&) = delete;
  ~OutputPool() { Trim(); }

  // At least `bytes`: a kept block of at most twice the size, or a new one. A new block that replaces one that was
  // outgrown is larger by an eighth, since caches grow by some rows from run to run: a kept block of at least half the
  // size, which is freed, or one of `outgrown` bytes, which the caller freed. Null if memory is out.
  MemoryBlock Allocate(uint64_t bytes, uint64_t outgrown = 0);
  // Keeps the block, as long as kept blocks are no larger together than all blocks in use ever were.
  void Free(MemoryBlock block);
  // Gives the block back to the allocator.
  void Discard(MemoryBlock block);
  // Frees the kept blocks.
  void Trim();
  // Trim, and later blocks are not kept: the session has ended.
  void Close();
  uint64_t kept_bytes() const;

 private:
  std::unique_lock<std::mutex> Lock() const;
  bool TakeFitting(uint64_t bytes, MemoryBlock* out);
  bool TakeOutgrown(uint64_t bytes, MemoryBlock* out);
  MemoryBlock TakeKept(size_t i);

  const Allocator& allocator_;
  MemoryCounters* const counters_;
  const uint64_t fork_generation_;
  mutable std::mutex mutex_;       // guards all below
  std::vector<MemoryBlock> kept_;  // in the order of Free
  uint64_t kept_bytes_ = 0;
  uint64_t used_bytes_ = 0;
  uint64_t most_used_bytes_ = 0;  // since the last Trim
  bool closed_ = false;
};

}  // namespace tailor

#endif  // TAILOR_EXEC_OUTPUT_POOL_H_
