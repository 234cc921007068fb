// What matmuls in f32 cost on one kind of machine: the table by which the host program chooses how to cut one
// (tiling_model.h). Plain data, shared by the compiler, which has one for each CPU level and some for machines,
// artifacts, which carry them, and the runtime, which may be given another for the machine at hand. Generated code
// reads it through RtContext::costs: after measuring anew nothing is compiled.
#ifndef TAILOR_CODEGEN_CONTRACT_COST_PROFILE_H_
#define TAILOR_CODEGEN_CONTRACT_COST_PROFILE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tailor {

// A micro-kernel's time as a piecewise linear function of K (MikPoly section 3.3), in nanoseconds: one tile, its
// operands in L2 and its epilogue included, takes fixed + near_step * min(K, kNearDepth) + far_step * max(K -
// kNearDepth, 0). Near: while its panels stay in L1.
struct TileCost {
  static constexpr float kUnknown = 1e30f;
  float fixed = kUnknown;  // of what is not measured, and thus never chosen
  float near_step = 0;
  float far_step = 0;
  float unused = 0;
  bool known() const { return fixed < kUnknown; }
};

struct CostProfile {
  static constexpr int kRows = 16, kPanels = 8;
  static constexpr int64_t kNearDepth = 256;

  TileCost tiles[kRows][kPanels];  // [rows - 1][panels - 1]
  // Right operands of more bytes do not stay in cache from one run to the next.
  float cached_bytes = 1 << 20;
  // Then 64 bytes of them take so many nanoseconds to arrive, and while a tile works that has its panels already, so
  // much of its time brings in the panels after them.
  float line = 0;
  float hidden = 0;
  float task = 0;    // ns to hand a thread its next tasks
  float region = 0;  // ns to have other threads join
  // The rule's cut (tile_shapes.h) is taken unless another is faster by this share of its time.
  float margin = 0.03f;
  // How many k further on the lone tile of its panels fetches them; 0: it leaves that to the machine.
  static constexpr float kMostAhead = (1 << 14) - 1;
  float ahead = 64;

  const TileCost& Of(int rows, int panels) const { return tiles[rows - 1][panels - 1]; }
  TileCost& Of(int rows, int panels) { return tiles[rows - 1][panels - 1]; }
};
static_assert(sizeof(TileCost) == 16 && sizeof(CostProfile) == 16 * 8 * 16 + 28);
static_assert(offsetof(CostProfile, cached_bytes) == 2048 && offsetof(CostProfile, line) == 2052);
static_assert(offsetof(CostProfile, hidden) == 2056 && offsetof(CostProfile, task) == 2060);
static_assert(offsetof(CostProfile, region) == 2064 && offsetof(CostProfile, margin) == 2068);
static_assert(offsetof(CostProfile, ahead) == 2072);

// The text form, lines in any order; what is absent keeps its default, '#' begins a comment:
//   line 4.2
//   tile 6x4 11.5 4.1 4.3        (fixed near_step far_step)
std::string CostProfileText(const CostProfile& profile);
// Returns what is wrong ("line 3: ..."), or "" and fills `out`. Numbers are finite and not negative, `ahead` is a
// whole one below 16384.
std::string ParseCostProfile(std::string_view text, CostProfile* out);

// The table for a CPU level ("x86-64-v4"), or for the one it begins with ("x86-64-v4+avx512bf16").
const CostProfile& BuiltInCostProfile(std::string_view level);

// Machines of a CPU level for which that table is not the best known, and what was measured on theirs.
struct MachineCosts {
  std::string family;  // as CpuFamily tells it: "AuthenticAMD 25"
  CostProfile costs;
};
const std::vector<MachineCosts>& BuiltInMachineCosts(std::string_view level);
// What the compiler has for machines of `family` at that level.
const CostProfile& BuiltInCostProfile(std::string_view level, std::string_view family);

// The table of `machines` for `family`, or `others`.
const CostProfile& CostsOfFamily(const std::vector<MachineCosts>& machines, std::string_view family,
                                 const CostProfile& others);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_CONTRACT_COST_PROFILE_H_
