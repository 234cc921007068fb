#include "codegen/cuda/product_tile.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace tailor {

std::string ProductTile::Text() const {
  constexpr const char* kKinds[] = {"", "matrix ", "stream ", "matrix stream "};
  return absl::StrCat(kKinds[static_cast<int>(kind)], rows, "x", columns, "x", depth, " by ", part_rows, "x",
                      part_columns, stages > 0 ? absl::StrCat(" in ", stages, " stages") : "",
                      slices > 1 ? absl::StrCat(" in ", slices, " slices") : "");
}

int LeftRow(const ProductTile& tile, const ProductTypes& types) { return tile.rows + 16 / SizeOf(types.accumulate); }

int StagedRow(const ProductTile& tile, const ProductTypes& types) {
  return tile.columns + (types.stores_along_rows ? 1 : 4);
}

int64_t SharedBytes(const ProductTile& tile, const ProductTypes& types) {
  const int64_t step = tile.kind == ProductTile::Kind::kMatrix
                           ? (tile.rows + tile.columns) * SizeOf(types.operand)
                           : (LeftRow(tile, types) + tile.columns) * SizeOf(types.accumulate);
  const int64_t sums = int64_t{tile.slices} * tile.pass_rows * StagedRow(tile, types) * SizeOf(types.accumulate);
  return std::max(tile.stages * tile.depth * step, sums);
}

}  // namespace tailor
