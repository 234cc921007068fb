#include "codegen/cuda/product_epilogue.h"

#include <cassert>

#include "codegen/cuda/unroll.h"
#include "codegen/emit_loop.h"

namespace tailor {
namespace {

using llvm::Value;

// The sums as values of the plan's buffer, which f16 and bf16 round.
Value* Rounded(ProductFrame& product, Value* sum) {
  const Contraction& c = product.contraction();
  const DType dtype = product.plan().buffers[c.sums].dtype;
  if (dtype == c.accumulate) return sum;
  llvm::IRBuilderBase& b = product.b();
  return FromMemory(b, dtype, ToMemory(b, dtype, sum));
}

// Of all slices, in their order.
Value* EmitSum(ProductFrame& product, Value* row, Value* column) {
  llvm::IRBuilderBase& b = product.b();
  const DType accumulate = product.types().accumulate;
  Value* sum = nullptr;
  for (int slice = 0; slice < product.tile().slices; ++slice) {
    Value* address = StagedSum(product, row, column, b.getInt32(slice));
    Value* part = b.CreateAlignedLoad(product.sum_type(), address, llvm::Align(SizeOf(accumulate)), "part");
    sum = sum == nullptr ? part : IsFloat(accumulate) ? b.CreateFAdd(sum, part, "sum") : b.CreateAdd(sum, part, "sum");
  }
  return sum;
}

}  // namespace

void EmitProductElement(ProductFrame& product, Value* row, Value* column, Value* sum) {
  llvm::IRBuilderBase& b = product.b();
  const KernelPlan& plan = product.plan();
  const Contraction& c = product.contraction();
  ScalarEmitter& scalars = product.scalars();
  scalars.SetAxis(c.m, b.CreateAdd(product.first_row(), row, "m"));
  scalars.SetAxis(c.n, b.CreateAdd(product.first_column(), column, "n"));
  scalars.SetLocal(c.sums, Rounded(product, sum));
  for (size_t stage = c.stage + 1; stage < plan.stages.size(); ++stage) {
    for (const Statement& s : plan.stages[stage].statements) {
      scalars.Store(s.buffer, s.indices, scalars.Emit(s.value));
    }
  }
  scalars.Forget();
}

int FastExtent(const ProductFrame& product) {
  return product.types().stores_along_rows ? product.tile().rows : product.tile().columns;
}

Value* StagedSum(ProductFrame& product, Value* row, Value* column, Value* slice) {
  llvm::IRBuilderBase& b = product.b();
  if (slice != nullptr) row = b.CreateAdd(row, b.CreateMul(slice, b.getInt32(product.tile().pass_rows)));
  Value* offset = b.CreateMul(row, b.getInt32(StagedRow(product.tile(), product.types())));
  return b.CreateInBoundsGEP(product.sum_type(), product.team().staged, b.CreateAdd(offset, column), "staged.sum");
}

namespace {

// Elements that a thread has under way together. While passes are to come, sums of theirs take registers: of a wide
// tile of warpgroups most of them.
int Turns(const ProductTile& tile) {
  if (tile.pass_rows == tile.rows) return 4;
  return tile.kind == ProductTile::Kind::kWarpgroup && tile.part_columns > 128 ? 1 : 2;
}

// The elements of the pass whose first row is `first` (i64, of the tile). A thread has one column and every so many
// rows of it; where outputs lie along rows, one row and every so many columns.
void EmitPass(ProductFrame& product, Value* first, TakeSum take) {
  llvm::IRBuilderBase& b = product.b();
  const ProductTile& tile = product.tile();
  const bool along_rows = product.types().stores_along_rows;
  const int threads = product.team().threads;
  const int fast = along_rows ? tile.pass_rows : tile.columns, slow = along_rows ? tile.columns : tile.pass_rows;
  assert(threads % fast == 0);
  const auto narrow = [&](Value* value) { return b.CreateTrunc(value, b.getInt32Ty()); };
  const auto wide = [&](Value* value) { return b.CreateZExt(value, b.getInt64Ty()); };
  Value* rows_left = b.CreateSub(product.rows(), b.CreateAdd(product.first_row(), first, "pass.row"), "rows.left");
  Value* columns_left = b.CreateSub(product.columns(), product.first_column(), "columns.left");
  Value* own = wide(b.CreateURem(product.team().thread, b.getInt32(fast), "fast"));
  Value* start = wide(b.CreateUDiv(product.team().thread, b.getInt32(fast), "slow"));
  Value* end = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, along_rows ? columns_left : rows_left, b.getInt64(slow),
                                       nullptr, "slow.end");
  EmitIf(b, b.CreateICmpSLT(own, along_rows ? rows_left : columns_left, "exists"), "epilogue", [&] {
    llvm::BasicBlock* latch = nullptr;
    EmitLoop(b, start, end, threads / fast, "element", [&](Value* at) {
      Value *row = along_rows ? own : at, *column = along_rows ? at : own;
      Value* sum = EmitSum(product, narrow(row), narrow(column));
      take(b.CreateAdd(first, row, "row"), column, sum);
      latch = b.GetInsertBlock();
    });
    SetUnroll(latch, Turns(tile));
  });
}

}  // namespace

void EmitPasses(ProductFrame& product, llvm::function_ref<void(Value* first)> stage, TakeSum take) {
  llvm::IRBuilderBase& b = product.b();
  const ProductTile& tile = product.tile();
  EmitLoop(b, b.getInt64(0), b.getInt64(tile.rows), tile.pass_rows, "pass", [&](Value* pass) {
    product.team().meet();
    stage(b.CreateTrunc(pass, b.getInt32Ty(), "pass.first"));
    product.team().meet();
    EmitPass(product, pass, take);
  });
}

}  // namespace tailor
