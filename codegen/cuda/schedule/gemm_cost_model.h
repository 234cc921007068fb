// Cost model of matmuls on GPUs, in clocks, for the choice between tiles.
#ifndef TAILOR_CODEGEN_CUDA_SCHEDULE_GEMM_COST_MODEL_H_
#define TAILOR_CODEGEN_CUDA_SCHEDULE_GEMM_COST_MODEL_H_

#include "codegen/cuda/schedule/matmul_tile.h"
#include "codegen/plan/slot_expr.h"

namespace tailor::cuda {

// Steps of K per tile.
SlotExpr StepsOf(const MatmulTile& tile, const SlotExpr& depth);

// Clocks of a matmul of `tiles` tiles and K = `depth` on SlotExpr::Workers() multiprocessors (TSCompiler section 6).
// Each takes one tile after another, and has other resident blocks to run while one waits. A step of K takes the
// longest of multiplying, reading shared memory and reading L2. Before the first step operands arrive, after the last
// the sums are stored. Rates are NVIDIA's for sm_80 and, for warpgroups, measured on an H100
// (docs/decisions/gpu-matmuls.md). They only rank tiles: costs common to all tiles, such as memory bandwidth, are not
// counted. For kMma, kSimt and kWarpgroup.
SlotExpr MatmulClocks(const MatmulTile& tile, const MatmulTypes& types, const SlotExpr& tiles, const SlotExpr& depth);

// The same with Stream-K (stream_k.h), in parts of at least `part` steps: no partial last wave, but a grid sync, and
// the partial sums of shared tiles go through L2.
SlotExpr StreamKClocks(const MatmulTile& tile, const MatmulTypes& types, const SlotExpr& tiles, const SlotExpr& depth,
                       const SlotExpr& part);

// Likewise for kPanelStream and kMmaStream, which mostly read panels. A multiprocessor reads 22 bytes per clock
// while others are idle, as measured on an H100 with 16 blocks (16 x 500,000 x 512 in bf16: 32 MB each in 835 us), and
// 12 while all read, its share of the memory bandwidth. These compare a stream with its Stream-K version.
SlotExpr StreamClocks(const MatmulTile& tile, const MatmulTypes& types, const SlotExpr& tiles, const SlotExpr& depth);
SlotExpr SharedStreamClocks(const MatmulTile& tile, const MatmulTypes& types, const SlotExpr& tiles,
                            const SlotExpr& depth, const SlotExpr& part);

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_SCHEDULE_GEMM_COST_MODEL_H_
