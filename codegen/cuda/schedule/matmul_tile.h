// The part of a matmul that one block computes.
#ifndef TAILOR_CODEGEN_CUDA_SCHEDULE_MATMUL_TILE_H_
#define TAILOR_CODEGEN_CUDA_SCHEDULE_MATMUL_TILE_H_

#include <cstdint>
#include <string>

#include "graph/dtype.h"

namespace tailor::cuda {

inline constexpr int kWarpgroupThreads = 128;

// A block takes `rows` x `columns` elements of the result of one batch index. It loops over K in steps of `depth`,
// whose operands are in shared memory. The sums stay in registers until the last step; then they pass through shared
// memory once, `pass_rows` rows at a time, to the threads that run the epilogue. Stream kinds use shared memory only
// for that; each slice takes steps of `depth`. A block of warpgroups takes one tile after another.
struct MatmulTile {
  enum class Kind : uint8_t {
    kSimt,         // SIMT: any type
    kMma,          // MMA, on tensor cores (TSCompiler section 5.4): f16, bf16, and f32 as tf32
    kPanelStream,  // threads stream the rhs past a few rows: any type
    kMmaStream,    // likewise warps, on tensor cores: f16 and bf16
    kWarpgroup,    // warpgroups multiply stages that other warps copy to shared memory: f16 and bf16
  };
  Kind kind = Kind::kSimt;
  int rows = 64, columns = 64, depth = 16;
  int part_rows = 4, part_columns = 4;  // of the tile: per thread; on tensor cores per warp or warpgroup
  int stages = 2;                       // steps of K whose operands are in shared memory or in flight
  int slices = 1;                       // of K, added by the epilogue; one per thread or warp
  int pass_rows = 64;                   // divides rows; a multiple of part_rows, of 16 for kWarpgroup
  int resident_blocks = 0;              // CudaVersion::resident_blocks
  int copying_warps = 0;                // kWarpgroup: producer warps, after the consumers
  bool rounds_sums = false;             // kWarpgroup: to MatmulTypes::rounded, before they are staged

  bool IsMatrix() const { return kind == Kind::kMma || kind == Kind::kMmaStream; }
  int parts() const { return rows / part_rows * (columns / part_columns); }
  int threads() const {
    if (kind == Kind::kWarpgroup) return parts() * kWarpgroupThreads + copying_warps * 32;
    return parts() * slices * (IsMatrix() ? 32 : 1);
  }
  std::string Text() const;  // "64x64x16 by 4x4 in 2 stages", "matrix 128x128x32 by 64x32 in 3 stages", "stream 4x16x4
                             // by 4x4 in 64 slices", "warpgroup 128x128x64 by 64x128 in 6 stages, 1 copying"
  friend bool operator==(const MatmulTile&, const MatmulTile&) = default;
};

// Types of a matmul's operands and sums.
struct MatmulTypes {
  DType operand;
  DType accumulate;
  DType rounded;           // what the epilogue first rounds sums to: `accumulate`, or f16 or bf16
  bool stores_along_rows;  // the result of StoresAlongRows
};

// kSimt: elements between steps of K of the lhs in shared memory, whose rows are contiguous. Padding of 16 bytes
// spreads the writing threads over banks, and keeps vectors of 16 bytes aligned.
int LhsRow(const MatmulTile& tile, const MatmulTypes& types);
// Whether sums of the tile may be rounded before they are staged: the epilogue rounds them before anything else, and
// takes runs of columns. Stream-K versions need them in f32.
bool MayRoundSums(const MatmulTile& tile, const MatmulTypes& types);
// Bytes of a staged sum.
int StagedBytes(const MatmulTile& tile, const MatmulTypes& types);
// Elements between rows of staged sums, such that the writing threads, and the reading ones, hit different banks
// (docs/decisions/gpu-matmuls.md has the arithmetic).
int StagedRow(const MatmulTile& tile, const MatmulTypes& types);
// XOR swizzle of staged sums: whether odd groups of 32 columns of a row swap neighbouring 16-byte chunks. True for f32
// sums of tensor cores, of which threads may read eight at once.
bool SwizzlesStagedSums(const MatmulTile& tile, const MatmulTypes& types);
// Shared memory of a block: the stages, reused for the staged sums. kWarpgroup: the stages, then the staged sums, then
// two mbarriers per stage.
int64_t SharedBytes(const MatmulTile& tile, const MatmulTypes& types);
// Bytes of one partial-sum slot in global scratch: at most one slot per block and one per shared tile is needed.
int64_t PartialBytes(const MatmulTile& tile, const MatmulTypes& types);

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_SCHEDULE_MATMUL_TILE_H_
