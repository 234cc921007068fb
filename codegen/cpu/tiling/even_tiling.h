// Emits even tilings: a dim size is split into the fewest tiles of at most a given size, as even as possible
// (tile_shapes.h says why). The first `extra` tiles have base + 1 elements, the others base. With `whole`: tiles of
// exactly the given size, the last one with the remainder.
#ifndef TAILOR_CODEGEN_CPU_TILING_EVEN_TILING_H_
#define TAILOR_CODEGEN_CPU_TILING_EVEN_TILING_H_

#include "codegen/plan/schedule.h"
#include "llvm/IR/IRBuilder.h"

namespace tailor::gemm {

llvm::Value* EmitCeilDiv(llvm::IRBuilderBase& b, llvm::Value* value, llvm::Value* divisor, const llvm::Twine& name);

struct EvenTiling {
  llvm::Value* tiles;
  llvm::Value* base;
  llvm::Value* extra;
  llvm::Value* end = nullptr;  // end of the last tile, if that may be shorter than `base`

  // `limit` > 0. A dim size of 0 has no tiles. `whole`: i1; null means false.
  static EvenTiling Emit(llvm::IRBuilderBase& b, llvm::Value* dim_size, llvm::Value* limit,
                         llvm::Value* whole = nullptr);
  // `tiles` tiles, at most as many as the dim size.
  static EvenTiling OfCount(llvm::IRBuilderBase& b, llvm::Value* dim_size, llvm::Value* tiles);
  // Tiling of a matmul's rows; RowLimit (tile_shapes.h) limits the tile size.
  static EvenTiling OfRows(llvm::IRBuilderBase& b, llvm::Value* rows, const ContractionTile& tile);
  llvm::Value* Start(llvm::IRBuilderBase& b, llvm::Value* tile) const;
  llvm::Value* Size(llvm::IRBuilderBase& b, llvm::Value* tile) const;
  llvm::Value* LargestSize(llvm::IRBuilderBase& b) const;
  // First tile of block `block`, if `blocks` blocks share the tiles evenly.
  llvm::Value* BlockStart(llvm::IRBuilderBase& b, llvm::Value* block, llvm::Value* blocks) const;
};

// Limits of the tile size by the rule: RowLimit and PanelsForRows (tile_shapes.h) for `rows` rows.
struct RuleLimits {
  llvm::Value* rows;
  llvm::Value* panels;
  static RuleLimits Emit(llvm::IRBuilderBase& b, llvm::Value* rows, const ContractionTile& tile, int pieces);
};

}  // namespace tailor::gemm

#endif  // TAILOR_CODEGEN_CPU_TILING_EVEN_TILING_H_
