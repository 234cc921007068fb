// What a matmul costs on a GPU, so that the cheapest of a family of tiles is taken.
#ifndef TAILOR_CODEGEN_CUDA_SCHEDULE_GEMM_COST_MODEL_H_
#define TAILOR_CODEGEN_CUDA_SCHEDULE_GEMM_COST_MODEL_H_

#include "codegen/cuda/schedule/matmul_tile.h"
#include "codegen/plan/slot_expr.h"

namespace tailor::cuda {

// Steps of K of each tile.
SlotExpr StepsOf(const MatmulTile& tile, const SlotExpr& depth);

// The clocks of a product of `tiles` tiles and K = `depth` on SlotExpr::Workers() multiprocessors: while there are
// tiles, each takes one after another, as long as it has other blocks to run while one waits (TSCompiler section 6). A
// step of K is as long as what is slowest of multiplying, reading shared memory and reading the second-level cache;
// before the first step and after the last, operands come and the sums leave. The rates are those that NVIDIA publishes
// of sm_80, and for products of warpgroups those that an H100 showed (docs/decisions/gpu-matmuls.md). They decide
// between tiles alone: what all tiles need, as the memory's bandwidth, is not counted. Of kMatrix, kMultiplyAdd and
// kWarpgroup.
SlotExpr MatmulClocks(const MatmulTile& tile, const MatmulTypes& types, const SlotExpr& tiles, const SlotExpr& depth);

// The same where blocks share the last tiles (stream_k.h), in parts of at least `part` steps: nothing waits for
// the last turn, but blocks meet, and what they have of shared tiles goes through the second-level cache.
SlotExpr SharedMatmulClocks(const MatmulTile& tile, const MatmulTypes& types, const SlotExpr& tiles,
                            const SlotExpr& depth, const SlotExpr& part);

// Likewise of kPanelStream and kMatrixStream, which read panels and do little else. A multiprocessor reads 22 bytes a
// clock while others rest, as an H100 does with 16 blocks (16 x 500,000 x 512 in bf16: 32 MB each in 835 us), and 12
// while all read, its share of the memory's bandwidth. These compare one stream with the same where blocks share tiles.
SlotExpr StreamClocks(const MatmulTile& tile, const MatmulTypes& types, const SlotExpr& tiles, const SlotExpr& depth);
SlotExpr SharedStreamClocks(const MatmulTile& tile, const MatmulTypes& types, const SlotExpr& tiles,
                            const SlotExpr& depth, const SlotExpr& part);

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_SCHEDULE_GEMM_COST_MODEL_H_
