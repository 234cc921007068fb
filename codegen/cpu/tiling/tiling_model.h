// The candidate tilings of a matmul, and the choice of the one predicted to be fastest: patterns I to IX of MikPoly
// (figure 5), as far as they differ where every tile size has its micro-kernel. emit_tiling_choice.h emits the same
// choice; this implementation serves the compiler, tests and measurements.
#ifndef TAILOR_CODEGEN_CPU_TILING_TILING_MODEL_H_
#define TAILOR_CODEGEN_CPU_TILING_TILING_MODEL_H_

#include <cstdint>
#include <vector>

#include "codegen/contract/cost_profile.h"
#include "codegen/cpu/tiling/tiling_cost.h"
#include "codegen/plan/schedule.h"
#include "fusion/target_traits.h"

namespace tailor::gemm {

inline constexpr int kMostTilings = 15;  // with the rule's tiling they fill 16 lanes

// The matmul of one launch: [batch][m][k] x [k][n].
struct MatmulShape {
  int64_t m = 0, n = 0, k = 0;
  int64_t batch = 1;
  int64_t threads = 1;
};

// All cost profiles of the lowest CPU level with vectors of that size; the profile of most machines comes first.
std::vector<const CostProfile*> BuiltInCostsOf(const TargetTraits& traits);

// The tiling that the rule gives (tile_shapes.h), with its limits for `m`. `pieces`: registers per 16 sums.
MatmulTiling RuleTiling(const ContractionTile& tile, int pieces, int64_t m);

// Predicted time in nanoseconds.
float PredictTiling(const MatmulTiling& tiling, const ContractionTile& tile, const MatmulShape& dim_sizes,
                    const CostProfile& profile);

// The rule's tiling, or one of tile.tilings that is predicted to be faster by more than the profile's margin.
MatmulTiling ChooseTiling(const ContractionTile& tile, int pieces, const MatmulShape& dim_sizes,
                          const CostProfile& profile);

// All candidate tilings whose tiles fit the registers, except the rule's: other ways to tile by `tile` and, with
// `further_tiles`, other tiles.
std::vector<MatmulTiling> TilingFamily(const TargetTraits& traits, int pieces, const ContractionTile& tile,
                                       bool further_tiles);

// The members of `family` that are worth their code (MikPoly section 3.3: the best n are kept). Each is predicted to be
// 5% faster than the rule's tiling and all others kept, for some of `samples` under some of `profiles`.
std::vector<MatmulTiling> WorthwhileTilings(const std::vector<MatmulTiling>& family, const ContractionTile& tile,
                                            int pieces, const std::vector<MatmulShape>& samples,
                                            const std::vector<const CostProfile*>& profiles);

// A tiling as a kernel argument. Bits: rows 0 to 7, panels 8 to 15, whole_rows 16, whole_panels 17, the machine's
// CostProfile::prefetch_distance 18 to 31, task_rows 32 to 47, task_panels 48 to 63.
inline constexpr int kAheadBit = 18, kAheadBits = 14;
uint64_t TilingWord(const MatmulTiling& tiling, float ahead);
// Tasks of a launch, and tasks per chunk.
int64_t TilingTasks(const MatmulTiling& tiling, const MatmulShape& dim_sizes);
int64_t TilingChunk(const MatmulTiling& tiling, const ContractionTile& tile, const MatmulShape& dim_sizes);

}  // namespace tailor::gemm

#endif  // TAILOR_CODEGEN_CPU_TILING_TILING_MODEL_H_
