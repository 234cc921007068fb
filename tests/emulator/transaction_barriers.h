// mbarriers: the state that belongs to their 8 bytes of shared memory.
#ifndef TAILOR_TESTS_EMULATOR_TRANSACTION_BARRIERS_H_
#define TAILOR_TESTS_EMULATOR_TRANSACTION_BARRIERS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/emulator/access_checker.h"

namespace tailor::simt {

// A thread's copy in flight: `bytes` bytes, then zeros up to `size`.
struct AsyncCopy {
  std::byte* to;
  const std::byte* from;
  uint32_t bytes;
  uint32_t size;
  int64_t group;
};

// Completes the copy.
void Deliver(const AsyncCopy& copy);

// A piece of a bulk copy, of 16 bytes.
struct BulkPiece {
  std::byte* to;
  std::byte data[16];
  int warp;  // that started the copy
};

// Copies of one thread, whose completion is one arrival at a barrier.
struct CopyBatch {
  std::vector<AsyncCopy> copies;
  int warp;
};

struct TransactionBarrier {
  uint32_t arrivals = 0;  // per phase
  uint32_t missing = 0;   // arrivals that the current phase lacks
  uint32_t phase = 0;     // completed phases
  int64_t bytes = 0;      // that the phase expects, less those in flight in `pieces`
  // In flight, until somebody waits for them and nothing else is missing.
  std::vector<BulkPiece> pieces;
  std::vector<CopyBatch> batches;
  WarpClock clock = {};  // what its arrivals order
};

}  // namespace tailor::simt

#endif  // TAILOR_TESTS_EMULATOR_TRANSACTION_BARRIERS_H_
