#include "codegen/cuda/schedule/matmul_tile.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace tailor::cuda {

std::string MatmulTile::Text() const {
  constexpr const char* kKinds[] = {"", "matrix ", "stream ", "matrix stream ", "warpgroup "};
  return absl::StrCat(kKinds[static_cast<int>(kind)], rows, "x", columns, "x", depth, " by ", part_rows, "x",
                      part_columns, stages > 0 ? absl::StrCat(" in ", stages, " stages") : "",
                      slices > 1 ? absl::StrCat(" in ", slices, " slices") : "",
                      copying_warps > 0 ? absl::StrCat(", ", copying_warps, " copying") : "");
}

int LhsRow(const MatmulTile& tile, const MatmulTypes& types) { return tile.rows + 16 / SizeOf(types.accumulate); }

bool MayRoundSums(const MatmulTile& tile, const MatmulTypes& types) {
  return tile.kind == MatmulTile::Kind::kWarpgroup && types.rounded != types.accumulate && !types.stores_along_rows;
}

int StagedBytes(const MatmulTile& tile, const MatmulTypes& types) {
  return SizeOf(tile.rounds_sums ? types.rounded : types.accumulate);
}

int StagedRow(const MatmulTile& tile, const MatmulTypes& types) {
  if (types.stores_along_rows) return tile.columns + 1;
  return tile.columns + (tile.kind == MatmulTile::Kind::kWarpgroup ? 8 : 4);
}

bool SwizzlesStagedSums(const MatmulTile& tile, const MatmulTypes& types) {
  using Kind = MatmulTile::Kind;
  return (tile.kind == Kind::kMma || tile.kind == Kind::kWarpgroup) && !types.stores_along_rows && !tile.rounds_sums;
}

int64_t SharedBytes(const MatmulTile& tile, const MatmulTypes& types) {
  const bool matrix = tile.kind == MatmulTile::Kind::kMma || tile.kind == MatmulTile::Kind::kWarpgroup;
  const int64_t step = matrix ? (tile.rows + tile.columns) * SizeOf(types.operand)
                              : (LhsRow(tile, types) + tile.columns) * SizeOf(types.accumulate);
  const int64_t sums = int64_t{tile.slices} * tile.pass_rows * StagedRow(tile, types) * StagedBytes(tile, types);
  const int64_t stages = tile.stages * tile.depth * step;
  if (tile.kind != MatmulTile::Kind::kWarpgroup) return std::max(stages, sums);
  constexpr int64_t kBarriers = 2, kBarrierBytes = 8;
  return stages + sums + kBarriers * kBarrierBytes * tile.stages;
}

int64_t PartialBytes(const MatmulTile& tile, const MatmulTypes& types) {
  return int64_t{tile.rows} * tile.columns * SizeOf(types.accumulate);
}

}  // namespace tailor::cuda
