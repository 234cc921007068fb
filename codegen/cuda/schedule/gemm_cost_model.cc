#include "codegen/cuda/schedule/gemm_cost_model.h"

#include <algorithm>

namespace tailor::cuda {
namespace {

// Per multiprocessor and clock.
constexpr int64_t kMmaMatmuls = 1024;        // multiply-adds of 16-bit elements on tensor cores; half as many of tf32
constexpr int64_t kWarpgroupMatmuls = 2048;  // the same on sm_90, by warpgroups
constexpr int64_t kWordProducts = 64;        // multiply-adds of f32 and i32 by threads; a quarter for wider types
constexpr int64_t kSharedBytes = 128;
constexpr int64_t kCacheBytes = 5120 / 108;  // of L2, per multiprocessor of 108
// Of warpgroups, measured on an H100: bytes per clock from L2 for one multiprocessor, and for all together; clocks of
// an epilogue per sum of a thread; clocks of a grid sync with storing and adding the partial sums.
constexpr int64_t kNearCacheBytes = 66, kAllCacheBytes = 5800;
constexpr int64_t kSumClocks = 20, kExchange = 30000;
// Clocks of a barrier, and until the first operands arrive; both are partly hidden by other blocks.
constexpr int64_t kBarrier = 30, kStart = 1000;
constexpr int64_t kGridSyncClocks = 2000;  // grid sync, and until the first partial sums arrive
// Bytes per clock that a multiprocessor reads from memory while others are idle, and while all read.
constexpr int64_t kStreamBytes = 22, kMemoryBytes = 12;

bool MultipliesMatrices(const MatmulTile& tile) { return tile.IsMatrix() || tile.kind == MatmulTile::Kind::kWarpgroup; }

int64_t MultiplyAddsPerClock(const MatmulTile& tile, int64_t element) {
  if (tile.kind == MatmulTile::Kind::kWarpgroup) return kWarpgroupMatmuls;
  return tile.IsMatrix() ? kMmaMatmuls * 2 / element : element > 4 ? kWordProducts / 4 : kWordProducts;
}

// Bytes of shared memory that a step of K writes and reads: each part reads its rows and its columns.
int64_t SharedTraffic(const MatmulTile& tile, int64_t element) {
  const int64_t parts = int64_t{tile.rows / tile.part_rows} * (tile.columns / tile.part_columns);
  // SIMT: the lanes of a warp share reads, a row of lanes the columns, a column of lanes the rows.
  constexpr int64_t kLanesAlong = 4;
  const int64_t shared = MultipliesMatrices(tile) ? 1 : kLanesAlong;
  return (tile.rows + tile.columns + parts * (tile.part_rows + tile.part_columns) / shared) * tile.depth * element;
}

bool IsWarpgroup(const MatmulTile& tile) { return tile.kind == MatmulTile::Kind::kWarpgroup; }

// Clocks of a step while `blocks` multiprocessors run.
SlotExpr StepClocks(const MatmulTile& tile, const MatmulTypes& types, const SlotExpr& blocks) {
  const int64_t element = MultipliesMatrices(tile) ? SizeOf(types.operand) : SizeOf(types.accumulate);
  const int64_t matmuls = int64_t{tile.rows} * tile.columns * tile.depth / MultiplyAddsPerClock(tile, element);
  const int64_t loaded = int64_t{tile.rows + tile.columns} * tile.depth * SizeOf(types.operand);
  if (IsWarpgroup(tile)) {
    const SlotExpr together = SlotExpr::FloorDiv(loaded * blocks, kAllCacheBytes);
    return kBarrier + SlotExpr::Max(std::max(matmuls, loaded / kNearCacheBytes), together);
  }
  return kBarrier + std::max({matmuls, SharedTraffic(tile, element) / kSharedBytes, loaded / kCacheBytes});
}

int64_t SumBytes(const MatmulTile& tile, const MatmulTypes& types) {
  return int64_t{tile.rows} * tile.columns * SizeOf(types.accumulate);
}

int64_t EpilogueClocks(const MatmulTile& tile, const MatmulTypes& types) {
  if (!IsWarpgroup(tile)) return 3 * SumBytes(tile, types) / kSharedBytes;
  const int64_t sums = int64_t{tile.part_rows} * tile.part_columns / kWarpgroupThreads;
  // Sums of 256 columns in f32 leave registers for one run in flight per thread.
  return kSumClocks * sums * (tile.part_columns > 128 && !tile.rounds_sums ? 4 : 1);
}

SlotExpr TileClocks(const MatmulTile& tile, const MatmulTypes& types, const SlotExpr& depth, const SlotExpr& blocks) {
  return StepsOf(tile, depth) * StepClocks(tile, types, blocks) + kStart + EpilogueClocks(tile, types);
}

int64_t PanelBytes(const MatmulTile& tile, const MatmulTypes& types) {
  return int64_t{tile.columns} * tile.depth * SizeOf(types.operand);
}

// Clocks to read the panels of all tiles, while all multiprocessors read.
SlotExpr MemoryClocks(const MatmulTile& tile, const MatmulTypes& types, const SlotExpr& tiles, const SlotExpr& depth) {
  return SlotExpr::FloorDiv(tiles * StepsOf(tile, depth) * PanelBytes(tile, types), kMemoryBytes * SlotExpr::Workers());
}

}  // namespace

SlotExpr StepsOf(const MatmulTile& tile, const SlotExpr& depth) { return SlotExpr::CeilDiv(depth, tile.depth); }

SlotExpr MatmulClocks(const MatmulTile& tile, const MatmulTypes& types, const SlotExpr& tiles, const SlotExpr& depth) {
  const SlotExpr workers = SlotExpr::Workers();
  return SlotExpr::FloorDiv(tiles + workers - 1, workers) *
         TileClocks(tile, types, depth, SlotExpr::Min(tiles, workers));
}

// A block stores partial sums of at most two tiles, and adds about as many.
SlotExpr StreamKClocks(const MatmulTile& tile, const MatmulTypes& types, const SlotExpr& tiles, const SlotExpr& depth,
                       const SlotExpr& part) {
  const SlotExpr workers = SlotExpr::Workers();
  const int64_t exchanged =
      IsWarpgroup(tile) ? kExchange : 4 * tile.resident_blocks * SumBytes(tile, types) / kCacheBytes;
  const SlotExpr evenly = SlotExpr::FloorDiv(tiles * TileClocks(tile, types, depth, workers), workers);
  return SlotExpr::Max(evenly, part * StepClocks(tile, types, workers)) + kStart + kGridSyncClocks + exchanged;
}

SlotExpr StreamClocks(const MatmulTile& tile, const MatmulTypes& types, const SlotExpr& tiles, const SlotExpr& depth) {
  const SlotExpr workers = SlotExpr::Workers();
  const SlotExpr turns = SlotExpr::FloorDiv(tiles + workers - 1, workers);
  const SlotExpr alone = SlotExpr::FloorDiv(turns * StepsOf(tile, depth) * PanelBytes(tile, types), kStreamBytes);
  return SlotExpr::Max(alone, MemoryClocks(tile, types, tiles, depth)) + kStart;
}

SlotExpr SharedStreamClocks(const MatmulTile& tile, const MatmulTypes& types, const SlotExpr& tiles,
                            const SlotExpr& depth, const SlotExpr& part) {
  const SlotExpr longest = SlotExpr::FloorDiv(part * PanelBytes(tile, types), kStreamBytes);
  return SlotExpr::Max(longest, MemoryClocks(tile, types, tiles, depth)) + 2 * kStart + kGridSyncClocks;
}

}  // namespace tailor::cuda
