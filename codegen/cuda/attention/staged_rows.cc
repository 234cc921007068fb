#include "codegen/cuda/attention/staged_rows.h"

#include <algorithm>

#include "codegen/cuda/device_ir/device_intrinsics.h"
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
      last_(b_.CreateSub(dim_size_, b_.getInt64(1), "row.last")),
      turn_rows_(frame.tile.threads() / (columns / chunk_elements_)) {
  FindRuns();
}

void StagedRows::FindRuns() {
  const Expr load = f_.plan.exprs[element_];
  if (load.kind != ExprKind::kLoad || load.predicate >= 0) return;
  const AccessMap rows = MapOf(f_.plan, load, row_axis_);
  if (!rows.IsAffine() || !MapOf(f_.plan, load, column_axis_).IsUnitInLastDim()) return;
  pitch_ = b_.CreateMul(f_.scalars.EmitStride(rows, load.ref, "pitch"), b_.getInt64(bytes_), "pitch.bytes");
  f_.scalars.SetAxis(row_axis_, b_.getInt64(0));
  f_.scalars.SetAxis(column_axis_, b_.getInt64(0));
  base_ = f_.scalars.AddressOf(load.ref, load.args);
  from_ = OpenVariable(b_, base_, "chunk.from");
  Value* bits = b_.CreateOr(b_.CreatePtrToInt(base_, b_.getInt64Ty()), pitch_, "address.bits");
  aligned_ = b_.CreateICmpEQ(b_.CreateAnd(bits, kChunkBytes - 1), b_.getInt64(0), "aligned");
}

// Neighbouring threads take neighbouring chunks of a row.
StagedRows::OwnChunk StagedRows::EmitOwnChunk(Value* thread) {
  Value* row_chunks = f_.I32(columns_ / chunk_elements_);
  Value* row = b_.CreateUDiv(thread, row_chunks, "own.row");
  Value* column = b_.CreateMul(b_.CreateURem(thread, row_chunks), f_.I32(kChunkBytes), "own.column");
  Value* bytes = f_.I32(kChunkBytes);
  if (existing_ < columns_) {
    Value* left = b_.CreateSub(f_.I32(existing_ * bytes_), column);
    left = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, left, f_.I32(0));
    bytes = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, left, bytes, nullptr, "own.bytes");
  }
  Value* from = b_.CreateAdd(b_.CreateMul(f_.Wide(row), pitch_), f_.Wide(column));
  return {row, bytes, b_.CreateGEP(b_.getInt8Ty(), base_, from, "own.address"),
          b_.CreateAdd(b_.CreateMul(row, f_.I32(StagedRowBytes(columns_, bytes_))), column, "own.offset")};
}

void StagedRows::EmitCopyStep(Value* first, Value* to) {
  if (aligned_ == nullptr) return EmitGather(first, to);
  EmitIf(b_, aligned_, "copy", [&] { EmitCopies(first, to); });
  EmitIf(b_, b_.CreateNot(aligned_), "gather", [&] { EmitGather(first, to); });
}

// Addresses of turns are a chain of additions: as multiples of one number they would take registers all along the loop
// over steps. With few registers, what a thread copies is computed anew in each step.
void StagedRows::EmitCopies(Value* first, Value* to) {
  const OwnChunk own = EmitOwnChunk(f_.few_registers() ? device::EmitThreadIdHere(b_) : f_.thread);
  Value* left = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateSub(dim_size_, first), b_.getInt64(rows_));
  left = b_.CreateSub(b_.CreateTrunc(left, b_.getInt32Ty()), own.row, "rows.left");
  Value* turn_bytes = b_.CreateMul(pitch_, b_.getInt64(turn_rows_), "turn.bytes");
  b_.CreateStore(b_.CreateGEP(b_.getInt8Ty(), own.address, b_.CreateMul(first, pitch_), "chunk.address"), from_);
  const auto copy = [&](Value* row) {
    Value* bytes = b_.CreateSelect(b_.CreateICmpSGT(left, row), own.bytes, f_.I32(0), "chunk.bytes");
    Value* at = b_.CreateAdd(own.offset, b_.CreateMul(row, f_.I32(StagedRowBytes(columns_, bytes_))), "chunk.at");
    Value* address = b_.CreateLoad(own.address->getType(), from_, "chunk.address");
    EmitOp(b_, device::Op::kCpAsync16, {b_.CreateInBoundsGEP(b_.getInt8Ty(), to, at), address, bytes});
  };
  const bool all_copy = f_.tile.threads() == turn_rows_ * (columns_ / chunk_elements_) && rows_ % turn_rows_ == 0;
  llvm::BasicBlock* latch = nullptr;
  EmitLoop(b_, b_.getInt64(0), b_.getInt64(rows_), turn_rows_, "turn", [&](Value* turn) {
    Value* row = b_.CreateTrunc(turn, b_.getInt32Ty(), "turn.row");
    Value* rows = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, b_.CreateSub(f_.I32(rows_), row), f_.I32(turn_rows_));
    EmitIf(b_, all_copy ? b_.getTrue() : b_.CreateICmpULT(own.row, rows), "own.turn", [&] { copy(row); });
    Value* address = b_.CreateLoad(own.address->getType(), from_, "chunk.address");
    b_.CreateStore(b_.CreateGEP(b_.getInt8Ty(), address, turn_bytes, "chunk.next"), from_);
    latch = b_.GetInsertBlock();
  });
  SetUnroll(latch, f_.few_registers() ? 2 : (rows_ + turn_rows_ - 1) / turn_rows_);
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
