#include "codegen/cuda/product_tile.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace tailor {

std::string ProductTile::Text() const {
  return absl::StrCat(rows, "x", columns, "x", depth, " by ", thread_rows, "x", thread_columns);
}

int64_t SharedBytes(const ProductTile& tile, int sum_bytes, bool along_rows) {
  const int64_t operands = 2 * tile.depth * (LeftRow(tile, sum_bytes) + tile.columns);
  const int64_t sums = tile.pass_rows * StagedRow(tile, along_rows);
  return std::max(operands, sums) * sum_bytes;
}

}  // namespace tailor
