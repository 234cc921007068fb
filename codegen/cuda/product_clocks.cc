#include "codegen/cuda/product_clocks.h"

#include <algorithm>

namespace tailor {
namespace {

// Of a multiprocessor, a clock.
constexpr int64_t kMatrixProducts = 1024;     // of 16-bit factors, by tensor cores; half as many of tf32
constexpr int64_t kWarpgroupProducts = 2048;  // the same of sm_90, for warpgroups
constexpr int64_t kWordProducts = 64;         // of f32 and i32, by threads; a quarter of it of wider ones
constexpr int64_t kSharedBytes = 128;
constexpr int64_t kCacheBytes = 5120 / 108;  // of the second-level cache, for each of 108 multiprocessors
// A barrier, and until the first operands come; both are in part hidden by other blocks.
constexpr int64_t kBarrier = 30, kStart = 1000;

bool MultipliesMatrices(const ProductTile& tile) {
  return tile.IsMatrix() || tile.kind == ProductTile::Kind::kWarpgroup;
}

int64_t ProductsPerClock(const ProductTile& tile, int64_t element) {
  if (tile.kind == ProductTile::Kind::kWarpgroup) return kWarpgroupProducts;
  return tile.IsMatrix() ? kMatrixProducts * 2 / element : element > 4 ? kWordProducts / 4 : kWordProducts;
}

// Bytes of shared memory that a step of K writes and reads: each part reads its rows and its columns.
int64_t SharedTraffic(const ProductTile& tile, int64_t element) {
  const int64_t parts = int64_t{tile.rows / tile.part_rows} * (tile.columns / tile.part_columns);
  // The lanes of a warp that multiply elements share what they read: a row of them the columns, a column the rows.
  constexpr int64_t kLanesAlong = 4;
  const int64_t shared = MultipliesMatrices(tile) ? 1 : kLanesAlong;
  return (tile.rows + tile.columns + parts * (tile.part_rows + tile.part_columns) / shared) * tile.depth * element;
}

}  // namespace

DimExpr ProductClocks(const ProductTile& tile, const ProductTypes& types, const DimExpr& depth) {
  const int64_t element = MultipliesMatrices(tile) ? SizeOf(types.operand) : SizeOf(types.accumulate);
  const int64_t rate = ProductsPerClock(tile, element);
  const int64_t products = int64_t{tile.rows} * tile.columns * tile.depth;
  const int64_t loaded = int64_t{tile.rows + tile.columns} * tile.depth * SizeOf(types.operand);
  const int64_t step =
      kBarrier + std::max({products / rate, SharedTraffic(tile, element) / kSharedBytes, loaded / kCacheBytes});
  const int64_t sums = int64_t{tile.rows} * tile.columns * SizeOf(types.accumulate);
  return DimExpr::CeilDiv(depth, tile.depth) * step + kStart + 3 * sums / kSharedBytes;
}

}  // namespace tailor
