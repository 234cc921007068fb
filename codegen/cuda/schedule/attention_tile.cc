#include "codegen/cuda/schedule/attention_tile.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace tailor::cuda {

std::string AttentionTile::Text() const {
  return absl::StrCat(kind == Kind::kMma ? "matrix " : "", "attention ", rows, " rows x ", keys, " keys of ", depth,
                      " and ", columns, slices > 1 ? absl::StrCat(" in ", slices, " slices") : "",
                      skips ? ", skips masked keys" : "");
}

int StageBytes(const AttentionTile& tile) {
  return tile.keys *
         (StagedRowBytes(tile.depth, tile.element_bytes()) + StagedRowBytes(tile.columns, tile.element_bytes()));
}

int QueryOffset(const AttentionTile& tile) { return StageBytes(tile); }

int WeightOffset(const AttentionTile& tile) {
  return QueryOffset(tile) + tile.rows * StagedRowBytes(tile.depth, tile.element_bytes());
}

int WarpWeightBytes(const AttentionTile& tile) {
  return tile.kind == AttentionTile::Kind::kMma ? 0 : AttentionTile::kWarpRows * StagedWeightRow(tile) * 4;
}

int VoteOffset(const AttentionTile& tile) {
  return std::max(tile.stages * StageBytes(tile), WeightOffset(tile) + tile.warps() * WarpWeightBytes(tile));
}

int ResultOffset(const AttentionTile& tile) { return tile.slices == 1 ? 0 : tile.slices * tile.rows * 8; }

int MaskedValuesOffset(const AttentionTile& tile) {
  return ResultOffset(tile) + tile.slices * tile.rows * StagedResultRow(tile) * 4;
}

int64_t SharedBytes(const AttentionTile& tile) {
  return std::max(VoteOffset(tile) + (tile.skips ? tile.warps() * 4 : 0),
                  MaskedValuesOffset(tile) + (tile.skips ? tile.threads() * 4 : 0));
}

}  // namespace tailor::cuda
