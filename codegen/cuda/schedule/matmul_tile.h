// How one block of threads computes a part of a matmul.
#ifndef TAILOR_CODEGEN_CUDA_SCHEDULE_MATMUL_TILE_H_
#define TAILOR_CODEGEN_CUDA_SCHEDULE_MATMUL_TILE_H_

#include <cstdint>
#include <string>

#include "graph/dtype.h"

namespace tailor::cuda {

inline constexpr int kWarpgroupThreads = 128;

// A block takes `rows` x `columns` elements of the result of one batch index. It walks K in steps of `depth`, for which
// both operands' parts lie in shared memory; the sums stay in registers until the last step, then pass through shared
// memory once, `pass_rows` rows at a time, to the threads that run the epilogue. What streams has no shared memory but
// for that, and a step of `depth` for each slice. A block of warpgroups takes one tile after another.
struct MatmulTile {
  enum class Kind : uint8_t {
    kMultiplyAdd,   // threads multiply elements: any type
    kMatrix,        // warps multiply matrices on tensor cores (TSCompiler section 5.4): f16, bf16, and f32 as tf32
    kPanelStream,   // threads stream the rhs past a few rows: any type
    kMatrixStream,  // likewise warps, on tensor cores: f16 and bf16
    kWarpgroup,     // warpgroups multiply matrices in shared memory, which other warps have copied there: f16 and bf16
  };
  Kind kind = Kind::kMultiplyAdd;
  int rows = 64, columns = 64, depth = 16;
  int part_rows = 4, part_columns = 4;  // of the tile: one thread's, or one warp's or warpgroup's on tensor cores
  int stages = 2;                       // steps of K whose operands are in shared memory or on their way there
  int slices = 1;                       // of K, whose sums the epilogue adds: threads or warps have one each
  int pass_rows = 64;                   // divides rows; a multiple of part_rows, of 16 where warpgroups multiply
  int resident_blocks = 0;              // CudaVersion::resident_blocks
  int copying_warps = 0;                // kWarpgroup: behind those that multiply

  bool IsMatrix() const { return kind == Kind::kMatrix || kind == Kind::kMatrixStream; }
  int parts() const { return rows / part_rows * (columns / part_columns); }
  int threads() const {
    if (kind == Kind::kWarpgroup) return parts() * kWarpgroupThreads + copying_warps * 32;
    return parts() * slices * (IsMatrix() ? 32 : 1);
  }
  std::string Text() const;  // "64x64x16 by 4x4 in 2 stages", "matrix 128x128x32 by 64x32 in 3 stages", "stream 4x16x4
                             // by 4x4 in 64 slices", "warpgroup 128x128x64 by 64x128 in 6 stages, 1 copying"
  friend bool operator==(const MatmulTile&, const MatmulTile&) = default;
};

// What a tile's operands and sums are.
struct MatmulTypes {
  DType operand;
  DType accumulate;
  bool stores_along_rows;  // as StoresAlongRows says
};

// In shared memory, elements between neighbouring steps of K of kMultiplyAdd's lhs, whose rows lie side by
// side: padding of 16 bytes spreads the threads that write them over banks, and keeps vectors of 16 bytes whole.
int LhsRow(const MatmulTile& tile, const MatmulTypes& types);
// Likewise between rows of staged sums: the threads that write what they hold, and those that read neighbours, find
// them in different banks (docs/decisions/gpu-matmuls.md has the arithmetic).
int StagedRow(const MatmulTile& tile, const MatmulTypes& types);
// Whether in every second 32 columns of a row of staged sums neighbouring chunks of 16 bytes change places: where the
// sums are f32, of tensor cores, and threads may read eight at once.
bool SwapsChunks(const MatmulTile& tile, const MatmulTypes& types);
// What a block takes: the stages, later reused for the staged sums; of kWarpgroup the stages, the staged sums behind
// them, and two mbarriers a stage.
int64_t SharedBytes(const MatmulTile& tile, const MatmulTypes& types);
// Bytes of global scratch that the shares of one tile take, at most, for each block and each tile that is shared.
int64_t PartialBytes(const MatmulTile& tile, const MatmulTypes& types);

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_SCHEDULE_MATMUL_TILE_H_
