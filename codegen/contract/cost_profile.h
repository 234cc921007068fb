// CostProfile: measured costs of f32 matmuls on one kind of machine. The host program chooses a matmul's tiling by it
// (codegen/cpu/tiling/tiling_model.h). Plain data. The compiler has one per CPU level and some per CPU family;
// artifacts carry them; the runtime may be given another for its machine. Generated code reads it through
// RtContext::costs, so a new measurement needs no compilation.
#ifndef TAILOR_CODEGEN_CONTRACT_COST_PROFILE_H_
#define TAILOR_CODEGEN_CONTRACT_COST_PROFILE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tailor {

// Time in ns of one micro-kernel tile, epilogue included, with operands in L2: a piecewise linear function of K
// (MikPoly section 3.3), fixed + near_step * min(K, kNearDepth) + far_step * max(K - kNearDepth, 0). Near: the panels
// stay in L1.
struct TileCost {
  static constexpr float kUnknown = 1e30f;
  float fixed = kUnknown;  // unknown: not measured, never chosen
  float near_step = 0;
  float far_step = 0;
  float unused = 0;
  bool known() const { return fixed < kUnknown; }
};

struct CostProfile {
  static constexpr int kRows = 16, kPanels = 8;
  static constexpr int64_t kNearDepth = 256;

  TileCost tiles[kRows][kPanels];  // [rows - 1][panels - 1]
  // Bytes of an rhs above which it does not stay in cache from one run to the next.
  float cached_bytes = 1 << 20;
  // `line_ns`: nanoseconds per 64-byte cache line of such an rhs. `fetch_overlap`: share, 0 to 1, of a tile's time with
  // panels in cache that overlaps with the fetch of the next panels.
  float line_ns = 0;
  float fetch_overlap = 0;
  float chunk_ns = 0;  // per chunk that a thread takes
  float fork_ns = 0;   // per launch to start the other threads
  // The default tiling (tile_shapes.h) is kept unless another is faster by this share of its time.
  float margin = 0.03f;
  // Prefetch distance, in steps of K, of a tile whose panels no other tile of the task reads. 0: no software prefetch.
  static constexpr float kMaxPrefetchDistance = (1 << 14) - 1;
  float prefetch_distance = 64;

  const TileCost& Of(int rows, int panels) const { return tiles[rows - 1][panels - 1]; }
  TileCost& Of(int rows, int panels) { return tiles[rows - 1][panels - 1]; }
};
static_assert(sizeof(TileCost) == 16 && sizeof(CostProfile) == 16 * 8 * 16 + 28);
static_assert(offsetof(CostProfile, cached_bytes) == 2048 && offsetof(CostProfile, line_ns) == 2052);
static_assert(offsetof(CostProfile, fetch_overlap) == 2056 && offsetof(CostProfile, chunk_ns) == 2060);
static_assert(offsetof(CostProfile, fork_ns) == 2064 && offsetof(CostProfile, margin) == 2068);
static_assert(offsetof(CostProfile, prefetch_distance) == 2072);

// The text form: lines in any order, absent fields keep their default, '#' begins a comment. Its keys are shorter:
// line, hidden, task, region, ahead.
//   line 4.2
//   tile 6x4 11.5 4.1 4.3        (fixed near_step far_step)
std::string CostProfileText(const CostProfile& profile);
// Fills `out` and returns "", or returns the error ("line 3: ..."). Numbers must be finite and >= 0, `ahead` an integer
// below 16384.
std::string ParseCostProfile(std::string_view text, CostProfile* out);

// The profile of a CPU level ("x86-64-v4"), or of the level that `level` begins with ("x86-64-v4+avx512bf16").
const CostProfile& BuiltInCostProfile(std::string_view level);

// A CPU family with a profile of its own, measured on it, that differs from its level's.
struct MachineCosts {
  std::string family;  // as returned by CpuFamily: "AuthenticAMD 25"
  CostProfile costs;
};
const std::vector<MachineCosts>& BuiltInMachineCosts(std::string_view level);
// The built-in profile for machines of `family` at `level`.
const CostProfile& BuiltInCostProfile(std::string_view level, std::string_view family);

// The profile in `machines` for `family`, or `others`.
const CostProfile& CostsForFamily(const std::vector<MachineCosts>& machines, std::string_view family,
                                  const CostProfile& others);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_CONTRACT_COST_PROFILE_H_
