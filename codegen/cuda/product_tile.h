// How one block of threads computes a part of a product.
#ifndef TAILOR_CODEGEN_CUDA_PRODUCT_TILE_H_
#define TAILOR_CODEGEN_CUDA_PRODUCT_TILE_H_

#include <cstdint>
#include <string>

namespace tailor {

// A block takes `rows` x `columns` elements of the result of one batch index. It walks K in steps of `depth`, for which
// both operands' parts lie in shared memory; the sums stay in registers until the last step, then pass through shared
// memory once, `pass_rows` rows at a time, to the threads that run the epilogue.
struct ProductTile {
  int rows = 64, columns = 64, depth = 16;
  // Of one thread.
  int thread_rows = 4, thread_columns = 4;
  int pass_rows = 64;  // divides rows; a multiple of what one thread (warp) has

  int threads() const { return rows / thread_rows * (columns / thread_columns); }
  std::string Text() const;  // "64x64x16 by 4x4"
  friend bool operator==(const ProductTile&, const ProductTile&) = default;
};

// In shared memory, elements between neighbouring steps of K of the left operand, whose rows lie side by side: padding
// of 16 bytes spreads the threads that write them over banks, and keeps vectors of 16 bytes whole.
constexpr int LeftRow(const ProductTile& tile, int sum_bytes) { return tile.rows + 16 / sum_bytes; }
// Likewise between rows of staged sums, which the epilogue reads along rows or along columns.
constexpr int StagedRow(const ProductTile& tile, bool along_rows) { return tile.columns + (along_rows ? 1 : 4); }
// What a block takes: two steps of K, later reused for the staged sums of `sum_bytes` each.
int64_t SharedBytes(const ProductTile& tile, int sum_bytes, bool along_rows);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_CUDA_PRODUCT_TILE_H_
