// Transpositions on GPUs as tiles in shared memory (codegen/cuda/loops/transpose_tiles.h): the conditions and the
// sizes.
#ifndef TAILOR_CODEGEN_CUDA_SCHEDULE_TRANSPOSED_TILES_H_
#define TAILOR_CODEGEN_CUDA_SCHEDULE_TRANSPOSED_TILES_H_

#include <cstdint>
#include <optional>

#include "codegen/plan/kernel_plan.h"
#include "codegen/plan/transposition.h"

namespace tailor::cuda {

inline constexpr int kTransposeTile = 32;      // elements along both axes
inline constexpr int kTransposeThreads = 256;  // of a block, which has one tile at a time
inline constexpr int64_t kTransposeTileElements = int64_t{kTransposeTile} * (kTransposeTile + 1);  // with padding

// Bytes of shared memory for one tile of each load. Rows are one element longer than the tile, so columns lie in
// distinct banks.
int64_t SharedBytes(const KernelPlan& plan, const Transposition& how);

// nullopt if FindTransposition finds none, if either axis is too short for tiles, or if they take too much memory.
std::optional<Transposition> TransposedTiles(const KernelPlan& plan);

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_SCHEDULE_TRANSPOSED_TILES_H_
