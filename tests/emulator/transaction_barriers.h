// mbarriers: what lies behind their 8 bytes of shared memory.
#ifndef TAILOR_TESTS_EMULATOR_TRANSACTION_BARRIERS_H_
#define TAILOR_TESTS_EMULATOR_TRANSACTION_BARRIERS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/emulator/access_checker.h"

namespace tailor::simt {

// `bytes` bytes, then zeros up to `size`, that a thread copies and that have not arrived yet.
struct AsyncCopy {
  std::byte* to;
  const std::byte* from;
  uint32_t bytes;
  uint32_t size;
  int64_t group;
};

// Lets it arrive.
void Deliver(const AsyncCopy& copy);

// A piece of a bulk copy, of 16 bytes.
struct BulkPiece {
  std::byte* to;
  std::byte data[16];
  int warp;  // that started it
};

// Copies of one thread, whose arrival is one at a barrier.
struct CopyBatch {
  std::vector<AsyncCopy> copies;
  int warp;
};

struct TransactionBarrier {
  uint32_t arrivals = 0;  // that complete a phase
  uint32_t missing = 0;   // of the current phase
  uint32_t phase = 0;     // phases that are complete
  int64_t bytes = 0;      // that the phase waits for, less those under way in `pieces`
  // Under way, until somebody waits for them and nothing else is missing.
  std::vector<BulkPiece> pieces;
  std::vector<CopyBatch> batches;
  WarpClock clock = {};  // what its arrivals order
};

}  // namespace tailor::simt

#endif  // TAILOR_TESTS_EMULATOR_TRANSACTION_BARRIERS_H_
