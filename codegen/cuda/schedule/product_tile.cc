#include "codegen/cuda/schedule/product_tile.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace tailor::cuda {

std::string ProductTile::Text() const {
  constexpr const char* kKinds[] = {"", "matrix ", "stream ", "matrix stream ", "warpgroup "};
  return absl::StrCat(kKinds[static_cast<int>(kind)], rows, "x", columns, "x", depth, " by ", part_rows, "x",
                      part_columns, stages > 0 ? absl::StrCat(" in ", stages, " stages") : "",
                      slices > 1 ? absl::StrCat(" in ", slices, " slices") : "",
                      copying_warps > 0 ? absl::StrCat(", ", copying_warps, " copying") : "");
}

int LeftRow(const ProductTile& tile, const ProductTypes& types) { return tile.rows + 16 / SizeOf(types.accumulate); }

int StagedRow(const ProductTile& tile, const ProductTypes& types) {
  if (types.stores_along_rows) return tile.columns + 1;
  return tile.columns + (tile.kind == ProductTile::Kind::kWarpgroup ? 8 : 4);
}

bool SwapsChunks(const ProductTile& tile, const ProductTypes& types) {
  using Kind = ProductTile::Kind;
  return (tile.kind == Kind::kMatrix || tile.kind == Kind::kWarpgroup) && !types.stores_along_rows;
}

int64_t SharedBytes(const ProductTile& tile, const ProductTypes& types) {
  const bool matrix = tile.kind == ProductTile::Kind::kMatrix || tile.kind == ProductTile::Kind::kWarpgroup;
  const int64_t step = matrix ? (tile.rows + tile.columns) * SizeOf(types.operand)
                              : (LeftRow(tile, types) + tile.columns) * SizeOf(types.accumulate);
  const int64_t sums = int64_t{tile.slices} * tile.pass_rows * StagedRow(tile, types) * SizeOf(types.accumulate);
  const int64_t stages = tile.stages * tile.depth * step;
  if (tile.kind != ProductTile::Kind::kWarpgroup) return std::max(stages, sums);
  constexpr int64_t kBarriers = 2, kBarrierBytes = 8;
  return stages + sums + kBarriers * kBarrierBytes * tile.stages;
}

int64_t PartialBytes(const ProductTile& tile, const ProductTypes& types) {
  return int64_t{tile.rows} * tile.columns * SizeOf(types.accumulate);
}

}  // namespace tailor::cuda
