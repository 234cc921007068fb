#include "codegen/gemm/even_cut.h"

#include "llvm/IR/Intrinsics.h"

namespace tailor {

llvm::Value* EmitCeilDiv(llvm::IRBuilderBase& b, llvm::Value* value, llvm::Value* divisor, const llvm::Twine& name) {
  llvm::Value* rounded = b.CreateAdd(value, b.CreateSub(divisor, b.getInt64(1)), name + ".rounded");
  return b.CreateUDiv(rounded, divisor, name);
}

EvenCut EvenCut::Emit(llvm::IRBuilderBase& b, llvm::Value* extent, llvm::Value* limit) {
  EvenCut cut;
  cut.tiles = EmitCeilDiv(b, extent, limit, "tiles");
  llvm::Value* divisor = b.CreateBinaryIntrinsic(llvm::Intrinsic::umax, cut.tiles, b.getInt64(1));
  cut.base = b.CreateUDiv(extent, divisor, "tile.base");
  cut.extra = b.CreateURem(extent, divisor, "tile.extra");
  return cut;
}

EvenCut EvenCut::OfRows(llvm::IRBuilderBase& b, llvm::Value* rows, const ContractionTile& tile) {
  llvm::Value* limit = b.getInt64(tile.rows);
  if (tile.tall_rows > 0) {
    llvm::Value* tall = b.getInt64(tile.tall_rows);
    llvm::Value* few = b.CreateICmpULE(rows, b.getInt64(2 * tile.tall_rows), "few.rows");
    llvm::Value* fewer =
        b.CreateICmpULT(EmitCeilDiv(b, rows, tall, "tall.tiles"), EmitCeilDiv(b, rows, limit, "tiles"));
    limit = b.CreateSelect(b.CreateAnd(few, fewer), tall, limit, "row.limit");
  }
  return Emit(b, rows, limit);
}

llvm::Value* EvenCut::Start(llvm::IRBuilderBase& b, llvm::Value* tile) const {
  llvm::Value* larger = b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, tile, extra);
  return b.CreateAdd(b.CreateMul(tile, base), larger, "tile.start");
}

llvm::Value* EvenCut::Size(llvm::IRBuilderBase& b, llvm::Value* tile) const {
  return b.CreateAdd(base, b.CreateZExt(b.CreateICmpULT(tile, extra), b.getInt64Ty()), "tile.size");
}

llvm::Value* EvenCut::LargestSize(llvm::IRBuilderBase& b) const { return Size(b, b.getInt64(0)); }

llvm::Value* EvenCut::BlockStart(llvm::IRBuilderBase& b, llvm::Value* block, llvm::Value* blocks) const {
  return b.CreateUDiv(b.CreateMul(block, tiles), blocks, "block.start");
}

}  // namespace tailor
