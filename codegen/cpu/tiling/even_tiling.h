// In IR: a dim size cut into the fewest tiles of at most a given size, as even as possible (tile_shapes.h says why):
// the first `extra` tiles have base + 1 elements, the others base. Or into whole tiles of that size and one with what
// is left.
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
  llvm::Value* end = nullptr;  // where the last tile ends, if that may be shorter than `base`

  // `limit` > 0; a dim size of 0 gives no tiles. `whole` (i1, null: false): whole tiles.
  static EvenTiling Emit(llvm::IRBuilderBase& b, llvm::Value* dim_size, llvm::Value* limit,
                         llvm::Value* whole = nullptr);
  // Of the rows of a matmul: RowLimit (tile_shapes.h) says how large tiles may be.
  static EvenTiling OfRows(llvm::IRBuilderBase& b, llvm::Value* rows, const ContractionTile& tile);
  llvm::Value* Start(llvm::IRBuilderBase& b, llvm::Value* tile) const;
  llvm::Value* Size(llvm::IRBuilderBase& b, llvm::Value* tile) const;
  llvm::Value* LargestSize(llvm::IRBuilderBase& b) const;
  // The first tile of block `block`, when `blocks` blocks share the tiles evenly.
  llvm::Value* BlockStart(llvm::IRBuilderBase& b, llvm::Value* block, llvm::Value* blocks) const;
};

// How large tiles may be by the rule: RowLimit and PanelsForRows (tile_shapes.h) of `rows` rows.
struct RuleLimits {
  llvm::Value* rows;
  llvm::Value* panels;
  static RuleLimits Emit(llvm::IRBuilderBase& b, llvm::Value* rows, const ContractionTile& tile, int pieces);
};

}  // namespace tailor::gemm

#endif  // TAILOR_CODEGEN_CPU_TILING_EVEN_TILING_H_
