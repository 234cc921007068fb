// Which cuts of a matmul a launch chooses among, and which of them is predicted to be fastest: patterns I to IX of
// MikPoly (figure 5) as far as they differ where every size of tile has its micro-kernel. emit_tiling_choice.h emits
// the same choice; this one is for compiling, tests and measurements.
#ifndef TAILOR_CODEGEN_CPU_TILING_TILING_MODEL_H_
#define TAILOR_CODEGEN_CPU_TILING_TILING_MODEL_H_

#include <cstdint>
#include <vector>

#include "codegen/contract/cost_profile.h"
#include "codegen/cpu/tiling/tiling_cost.h"
#include "codegen/plan/schedule.h"
#include "fusion/target_traits.h"

namespace tailor::gemm {

inline constexpr int kMostTilings = 15;  // with the rule's they fill 16 lanes

// What one launch multiplies: [batch][m][k] x [k][n].
struct MatmulShape {
  int64_t m = 0, n = 0, k = 0;
  int64_t batch = 1;
  int64_t threads = 1;
};

// All tables of the lowest CPU level with such vectors, that of most machines first.
std::vector<const CostProfile*> BuiltInCostsOf(const TargetTraits& traits);

// The cut that the rule gives (tile_shapes.h), its limits as they are for `m`. `pieces`: registers that hold 16 sums.
MatmulTiling RuleTiling(const ContractionTile& tile, int pieces, int64_t m);

// In nanoseconds.
float PredictTiling(const MatmulTiling& tiling, const ContractionTile& tile, const MatmulShape& dim_sizes,
                    const CostProfile& profile);

// The rule's cut, or one of tile.tilings that is predicted to be faster by more than the profile's margin.
MatmulTiling ChooseTiling(const ContractionTile& tile, int pieces, const MatmulShape& dim_sizes,
                          const CostProfile& profile);

// Every cut that may be chosen whose tiles fit the registers: `tile` cut otherwise, and, with `further_tiles`, other
// tiles. Not the rule's own.
std::vector<MatmulTiling> TilingFamily(const TargetTraits& traits, int pieces, const ContractionTile& tile,
                                       bool further_tiles);

// Those of `family` that are worth their code (MikPoly section 3.3: the best n are kept): predicted to be faster than
// the rule's and all others that are kept, by a twentieth, for some of `samples` by some of `profiles`.
std::vector<MatmulTiling> WorthwhileTilings(const std::vector<MatmulTiling>& family, const ContractionTile& tile,
                                            int pieces, const std::vector<MatmulShape>& samples,
                                            const std::vector<const CostProfile*>& profiles);

// A cut as a kernel gets it: rows in bits 0 to 7, panels 8 to 15, whole_rows 16, whole_panels 17, task_rows 32 to 47,
// task_panels 48 to 63; in 18 to 31 is CostProfile::ahead, of the machine's table.
inline constexpr int kAheadBit = 18, kAheadBits = 14;
uint64_t TilingWord(const MatmulTiling& tiling, float ahead);
// How many tasks a launch has, and how many a thread takes at a time.
int64_t TilingTasks(const MatmulTiling& tiling, const MatmulShape& dim_sizes);
int64_t TilingChunk(const MatmulTiling& tiling, const ContractionTile& tile, const MatmulShape& dim_sizes);

}  // namespace tailor::gemm

#endif  // TAILOR_CODEGEN_CPU_TILING_TILING_MODEL_H_
