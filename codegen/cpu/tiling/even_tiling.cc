#include "codegen/cpu/tiling/even_tiling.h"

#include <algorithm>

#include "codegen/cpu/tiling/tile_shapes.h"
#include "llvm/IR/Intrinsics.h"

namespace tailor::gemm {
namespace {

llvm::Value* EmitRowLimit(llvm::IRBuilderBase& b, llvm::Value* rows, const ContractionTile& tile) {
  llvm::Value* limit = b.getInt64(tile.rows);
  if (tile.tall_rows == 0) return limit;
  llvm::Value* tall = b.getInt64(tile.tall_rows);
  llvm::Value* few = b.CreateICmpULE(rows, b.getInt64(2 * tile.tall_rows), "few.rows");
  llvm::Value* fewer = b.CreateICmpULT(EmitCeilDiv(b, rows, tall, "tall.tiles"), EmitCeilDiv(b, rows, limit, "tiles"));
  return b.CreateSelect(b.CreateAnd(few, fewer), tall, limit, "row.limit");
}

}  // namespace

llvm::Value* EmitCeilDiv(llvm::IRBuilderBase& b, llvm::Value* value, llvm::Value* divisor, const llvm::Twine& name) {
  llvm::Value* rounded = b.CreateAdd(value, b.CreateSub(divisor, b.getInt64(1)), name + ".rounded");
  return b.CreateUDiv(rounded, divisor, name);
}

EvenTiling EvenTiling::OfCount(llvm::IRBuilderBase& b, llvm::Value* dim_size, llvm::Value* tiles) {
  llvm::Value* divisor = b.CreateBinaryIntrinsic(llvm::Intrinsic::umax, tiles, b.getInt64(1));
  return {.tiles = tiles,
          .base = b.CreateUDiv(dim_size, divisor, "tile.base"),
          .extra = b.CreateURem(dim_size, divisor, "tile.extra")};
}

EvenTiling EvenTiling::Emit(llvm::IRBuilderBase& b, llvm::Value* dim_size, llvm::Value* limit, llvm::Value* whole) {
  EvenTiling tiling = OfCount(b, dim_size, EmitCeilDiv(b, dim_size, limit, "tiles"));
  if (whole == nullptr) return tiling;
  tiling.base = b.CreateSelect(whole, limit, tiling.base, "tile.base");
  tiling.extra = b.CreateSelect(whole, b.getInt64(0), tiling.extra, "tile.extra");
  tiling.end = dim_size;
  return tiling;
}

EvenTiling EvenTiling::OfRows(llvm::IRBuilderBase& b, llvm::Value* rows, const ContractionTile& tile) {
  return Emit(b, rows, EmitRowLimit(b, rows, tile));
}

llvm::Value* EvenTiling::Start(llvm::IRBuilderBase& b, llvm::Value* tile) const {
  llvm::Value* larger = b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, tile, extra);
  llvm::Value* start = b.CreateAdd(b.CreateMul(tile, base), larger, "tile.start");
  return end == nullptr ? start : b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, start, end);
}

llvm::Value* EvenTiling::Size(llvm::IRBuilderBase& b, llvm::Value* tile) const {
  llvm::Value* size = b.CreateAdd(base, b.CreateZExt(b.CreateICmpULT(tile, extra), b.getInt64Ty()), "tile.size");
  if (end == nullptr) return size;
  return b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, size, b.CreateSub(end, Start(b, tile)));
}

llvm::Value* EvenTiling::LargestSize(llvm::IRBuilderBase& b) const { return Size(b, b.getInt64(0)); }

llvm::Value* EvenTiling::BlockStart(llvm::IRBuilderBase& b, llvm::Value* block, llvm::Value* blocks) const {
  return b.CreateUDiv(b.CreateMul(block, tiles), blocks, "block.start");
}

RuleLimits RuleLimits::Emit(llvm::IRBuilderBase& b, llvm::Value* rows, const ContractionTile& tile, int pieces) {
  RuleLimits limits{EmitRowLimit(b, rows, tile), b.getInt64(tile.panels)};
  llvm::Value* most_rows = EvenTiling::Emit(b, rows, limits.rows).LargestSize(b);
  for (int height = 1; height <= std::max(tile.rows, tile.tall_rows); ++height) {
    const int wide = PanelsForRows(tile, pieces, height);
    if (wide == tile.panels) continue;
    limits.panels = b.CreateSelect(b.CreateICmpEQ(most_rows, b.getInt64(height)), b.getInt64(wide), limits.panels);
  }
  return limits;
}

}  // namespace tailor::gemm
