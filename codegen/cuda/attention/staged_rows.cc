#include "codegen/cuda/attention/staged_rows.h"

#include "codegen/cuda/device_ir/device_ops.h"
#include "codegen/cuda/device_ir/unroll.h"
#include "codegen/ir/emit_loop.h"
#include "codegen/plan/contraction.h"

namespace tailor::cuda {
namespace {

using llvm::Value;

constexpr int kChunkBytes = 16;

}  // namespace

StagedRows::StagedRows(AttentionFrame& frame, ExprId element, int row_axis, int column_axis, int rows, int columns)
    : f_(frame),
      b_(frame.b),
      element_(element),
      row_axis_(row_axis),
      column_axis_(column_axis),
      rows_(rows),
      columns_(columns),
      existing_(static_cast<int>(frame.plan.axes[column_axis].dim_size.constant)),
      dtype_(frame.plan.exprs[element].dtype),
      bytes_(SizeOf(dtype_)),
      chunk_elements_(kChunkBytes / bytes_),
      dim_size_(frame.kernel.DimSizeValue(b_, frame.plan.axes[row_axis].dim_size)),
      last_(b_.CreateSub(dim_size_, b_.getInt64(1), "row.last")) {
  FindRuns();
}

void StagedRows::FindRuns() {
  const Expr load = f_.plan.exprs[element_];
  if (load.kind != ExprKind::kLoad || load.predicate >= 0) return;
  const AccessMap rows = MapOf(f_.plan, load, row_axis_);
  if (!rows.IsAffine() || !MapOf(f_.plan, load, column_axis_).IsUnitInLastDim()) return;
  pitch_ = f_.scalars.EmitStride(rows, load.ref, "pitch");
  f_.scalars.SetAxis(row_axis_, b_.getInt64(0));
  f_.scalars.SetAxis(column_axis_, b_.getInt64(0));
  base_ = f_.scalars.AddressOf(load.ref, load.args);
  Value* address = b_.CreatePtrToInt(base_, b_.getInt64Ty(), "address");
  Value* bits = b_.CreateOr(address, b_.CreateMul(pitch_, b_.getInt64(bytes_)), "address.bits");
  aligned_ = b_.CreateICmpEQ(b_.CreateAnd(bits, kChunkBytes - 1), b_.getInt64(0), "aligned");
}

void StagedRows::EmitCopyStep(Value* first, Value* to) {
  if (aligned_ == nullptr) return EmitGather(first, to);
  EmitIf(b_, aligned_, "copy", [&] { EmitCopies(first, to); });
  EmitIf(b_, b_.CreateNot(aligned_), "gather", [&] { EmitGather(first, to); });
}

// Neighbouring threads take neighbouring chunks of a row. A loop keeps their addresses from taking registers elsewhere.
void StagedRows::EmitCopies(Value* first, Value* to) {
  const int chunks = rows_ * columns_ / chunk_elements_;
  llvm::BasicBlock* latch = nullptr;
  EmitLoop(b_, f_.Wide(f_.thread), b_.getInt64(chunks), f_.tile.threads(), "copy", [&](Value* chunk) {
    EmitCopy(b_.CreateTrunc(chunk, b_.getInt32Ty(), "chunk"), first, to);
    latch = b_.GetInsertBlock();
  });
  SetUnroll(latch, 2);
}

void StagedRows::EmitCopy(Value* chunk, Value* first, Value* to) {
  Value* row_chunks = f_.I32(columns_ / chunk_elements_);
  Value *row = b_.CreateUDiv(chunk, row_chunks), *within = b_.CreateURem(chunk, row_chunks);
  Value* offset = b_.CreateMul(within, f_.I32(kChunkBytes), "chunk.offset");
  Value* wanted = b_.CreateAdd(first, f_.Wide(row), "row.wanted");
  Value* exists = b_.CreateICmpSLT(wanted, dim_size_, "row.exists");
  Value* bytes = f_.I32(kChunkBytes);
  if (existing_ < columns_) {
    Value* left = b_.CreateSub(f_.I32(existing_ * bytes_), offset);
    left = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, left, f_.I32(0));
    bytes = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, left, bytes);
  }
  bytes = b_.CreateSelect(exists, bytes, f_.I32(0), "chunk.bytes");
  Value* read = b_.CreateSelect(exists, wanted, last_, "row.read");
  Value* from = b_.CreateMul(b_.CreateMul(read, pitch_), b_.getInt64(bytes_));
  from = b_.CreateGEP(b_.getInt8Ty(), base_, b_.CreateAdd(from, f_.Wide(offset)), "chunk.address");
  Value* at = b_.CreateAdd(b_.CreateMul(row, f_.I32(StagedRowBytes(columns_, bytes_))), offset, "chunk.at");
  EmitOp(b_, device::Op::kCpAsync16, {b_.CreateInBoundsGEP(b_.getInt8Ty(), to, at), from, bytes});
}

// The element at the current axes, in memory form.
Value* StagedRows::EmitElement() {
  const Expr& e = f_.plan.exprs[element_];
  if (e.kind != ExprKind::kLoad || e.predicate >= 0) return ToMemory(b_, dtype_, f_.scalars.Emit(element_));
  Value* address = f_.scalars.AddressOf(e.ref, e.args);
  return b_.CreateAlignedLoad(MemoryType(b_.getContext(), dtype_, 1), address, llvm::Align(bytes_), "bits");
}

// Neighbouring threads take neighbours in memory, along rows or along columns.
void StagedRows::EmitGather(Value* first, Value* to) {
  const Expr element = f_.plan.exprs[element_];
  const bool along_rows = element.kind == ExprKind::kLoad && MapOf(f_.plan, element, row_axis_).IsUnitInLastDim();
  const int elements = rows_ * columns_;
  llvm::BasicBlock* latch = nullptr;
  EmitLoop(b_, b_.getInt64(0), b_.getInt64(elements), f_.tile.threads(), "gather", [&](Value* begin) {
    Value* index = b_.CreateAdd(b_.CreateTrunc(begin, b_.getInt32Ty()), f_.thread, "element");
    Value* fast = f_.I32(along_rows ? rows_ : columns_);
    Value *low = b_.CreateURem(index, fast), *high = b_.CreateUDiv(index, fast);
    Value *row = along_rows ? low : high, *column = along_rows ? high : low;
    Value* wanted = b_.CreateAdd(first, f_.Wide(row), "row.wanted");
    Value* exists = b_.CreateAnd(b_.CreateICmpSLT(wanted, dim_size_), b_.CreateICmpULT(column, f_.I32(existing_)));
    Value* read = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, column, f_.I32(existing_ - 1));
    f_.scalars.SetAxis(row_axis_, b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, wanted, last_));
    f_.scalars.SetAxis(column_axis_, f_.Wide(read));
    Value* value = EmitElement();
    value = b_.CreateSelect(exists, value, llvm::Constant::getNullValue(value->getType()), "value");
    Value* at = b_.CreateMul(row, f_.I32(StagedRowBytes(columns_, bytes_)));
    at = b_.CreateAdd(at, b_.CreateMul(column, f_.I32(bytes_)), "element.at");
    b_.CreateAlignedStore(value, b_.CreateInBoundsGEP(b_.getInt8Ty(), to, at), llvm::Align(bytes_));
    f_.scalars.Forget();
    latch = b_.GetInsertBlock();
  });
  SetUnroll(latch, 4);
}

}  // namespace tailor::cuda
