#include "codegen/cuda/product_epilogue.h"

#include "codegen/cuda/device_intrinsics.h"
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

void EmitElement(ProductFrame& product, Value* m, Value* n, Value* sum) {
  const KernelPlan& plan = product.plan();
  const Contraction& c = product.contraction();
  ScalarEmitter& scalars = product.scalars();
  scalars.SetAxis(c.m, m);
  scalars.SetAxis(c.n, n);
  scalars.SetLocal(c.sums, Rounded(product, sum));
  for (size_t stage = c.stage + 1; stage < plan.stages.size(); ++stage) {
    for (const Statement& s : plan.stages[stage].statements) {
      scalars.Store(s.buffer, s.indices, scalars.Emit(s.value));
    }
  }
  scalars.Forget();
}

}  // namespace

Value* StagedSum(ProductFrame& product, Value* row, Value* column, Value* slice) {
  llvm::IRBuilderBase& b = product.b();
  if (slice != nullptr) row = b.CreateAdd(row, b.CreateMul(slice, b.getInt32(product.tile().pass_rows)));
  Value* offset = b.CreateMul(row, b.getInt32(StagedRow(product.tile(), product.types())));
  return b.CreateInBoundsGEP(product.sum_type(), product.shared(), b.CreateAdd(offset, column), "staged.sum");
}

void EmitProductEpilogue(ProductFrame& product, llvm::function_ref<void(Value* first)> stage) {
  llvm::IRBuilderBase& b = product.b();
  const ProductTile& tile = product.tile();
  const bool along_rows = product.types().stores_along_rows;
  const auto wide = [&](Value* value) { return b.CreateZExt(value, b.getInt64Ty()); };
  EmitLoop(b, b.getInt64(0), b.getInt64(tile.rows), tile.pass_rows, "pass", [&](Value* pass) {
    Value* first = b.CreateTrunc(pass, b.getInt32Ty(), "pass.first");
    device::EmitBarrier(b);
    stage(first);
    device::EmitBarrier(b);
    const int elements = tile.pass_rows * tile.columns, threads = product.version().threads;
    EmitLoop(b, b.getInt64(0), b.getInt64(elements), threads, "element", [&](Value* base) {
      Value* element = b.CreateAdd(b.CreateTrunc(base, b.getInt32Ty()), product.thread(), "element.index");
      Value* fast = b.getInt32(along_rows ? tile.pass_rows : tile.columns);
      Value *low = b.CreateURem(element, fast), *high = b.CreateUDiv(element, fast);
      Value *row = along_rows ? low : high, *column = along_rows ? high : low;
      Value* m = b.CreateAdd(product.first_row(), wide(b.CreateAdd(first, row)), "m");
      Value* n = b.CreateAdd(product.first_column(), wide(column), "n");
      Value* exists = b.CreateAnd(b.CreateICmpSLT(m, product.rows()), b.CreateICmpSLT(n, product.columns()), "exists");
      if (elements % threads != 0) exists = b.CreateAnd(exists, b.CreateICmpULT(element, b.getInt32(elements)));
      EmitIf(b, exists, "epilogue", [&] { EmitElement(product, m, n, EmitSum(product, row, column)); });
    });
  });
}

}  // namespace tailor
