// wgmma: gemms of a warpgroup (four warps), which run when the warpgroup waits for them.
#ifndef TAILOR_TESTS_EMULATOR_WARPGROUPS_H_
#define TAILOR_TESTS_EMULATOR_WARPGROUPS_H_

#include <cstdint>
#include <deque>
#include <vector>

#include "tests/emulator/access_checker.h"

namespace tailor::simt {

// Until the gemm is done, its accumulator registers hold NaNs that name the gemm and the register.
struct WarpgroupGemm {
  uint32_t id = 0;  // more than 0
  int64_t group = 0;
  uint64_t a = 0, b = 0;  // matrix descriptors
  bool uniform = true;    // all lanes passed the same ones
  bool done = false;
  std::vector<uint32_t> registers;  // [128 lanes][columns / 2]: accumulators; results once done
  void (*run)(WarpgroupGemm& gemm) = nullptr;
};

struct Warpgroup {
  std::deque<WarpgroupGemm> gemms;  // the most recent ones
  uint32_t started = 0;
  int64_t groups = 0;  // committed ones; new gemms belong to the next
};

// Named barrier: bar.sync of some warps.
struct NamedBarrier {
  uint32_t arrived = 0;
  uint32_t meetings = 0;
  WarpClock clock = {};
};

}  // namespace tailor::simt

#endif  // TAILOR_TESTS_EMULATOR_WARPGROUPS_H_
