#include "codegen/cuda/attention/online_softmax.h"

#include <limits>

#include "codegen/cuda/device_ir/device_intrinsics.h"
#include "codegen/cuda/device_ir/device_ops.h"

namespace tailor::cuda {

using llvm::Value;

OnlineSoftmax::OnlineSoftmax(AttentionFrame& frame, int rows, int sharers)
    : frame_(frame), b_(frame.b), sharers_(sharers) {
  for (int row = 0; row < rows; ++row) {
    tops_.push_back(b_.CreateAlloca(b_.getFloatTy(), nullptr, "tops"));
    totals_.push_back(b_.CreateAlloca(b_.getFloatTy(), nullptr, "totals"));
    Set(row, frame.F32(-std::numeric_limits<float>::infinity()), frame.F32(0));
  }
}

void OnlineSoftmax::Set(int row, Value* top, Value* total) {
  b_.CreateStore(top, tops_[row]);
  b_.CreateStore(total, totals_[row]);
}

Value* OnlineSoftmax::EmitMax(Value* x, Value* y) {
  return b_.CreateBinaryIntrinsic(llvm::Intrinsic::maximum, x, y, nullptr, "top");
}

Value* OnlineSoftmax::EmitSubtrahend(Value* top) {
  Value* none = b_.CreateFCmpOEQ(top, frame_.F32(-std::numeric_limits<float>::infinity()), "none");
  return b_.CreateSelect(none, frame_.F32(0), top, "subtrahend");
}

// f32 attention uses the accurate exponential. For weights that are rounded to 16 bits the device's exp2 suffices: the
// difference is scaled, not its terms, so the exponent of the largest score is exactly 0.
Value* OnlineSoftmax::EmitExponential(Value* score, Value* subtrahend) {
  constexpr float kLog2E = 1.44269504f;
  Value* below = b_.CreateFSub(score, subtrahend, "below");
  if (frame_.tile.kind == AttentionTile::Kind::kSimt) {
    return EmitScalarOp(b_, frame_.target, OpKind::kExp, DType::kF32, DType::kF32, {below});
  }
  return EmitOp(b_, device::Op::kExp2, {b_.CreateFMul(below, frame_.F32(kLog2E), "below.log2")});
}

Value* OnlineSoftmax::EmitUpdate(int row, std::vector<Value*>& scores) {
  Value* before = EmitTop(row);
  Value* top = before;
  for (Value* score : scores) top = EmitMax(top, score);
  for (int distance = 1; distance < sharers_; distance *= 2) {
    top = EmitMax(top, device::EmitShuffleXor(b_, top, distance));
  }
  Value* subtrahend = EmitSubtrahend(top);
  Value* factor = EmitExponential(before, subtrahend);
  Value* total = b_.CreateFMul(EmitTotal(row), factor, "total.before");
  for (Value*& score : scores) {
    score = EmitExponential(score, subtrahend);
    total = b_.CreateFAdd(total, score, "total.next");
  }
  Set(row, top, total);
  return factor;
}

Value* OnlineSoftmax::EmitMerge(int row, const std::vector<Value*>& tops, const std::vector<Value*>& totals) {
  Value* top = tops[0];
  for (Value* part : tops) top = EmitMax(top, part);
  Value* subtrahend = EmitSubtrahend(top);
  Value* factor = EmitExponential(EmitTop(row), subtrahend);
  Value* total = frame_.F32(0);
  for (size_t i = 0; i < tops.size(); ++i) {
    total = b_.CreateFAdd(total, b_.CreateFMul(totals[i], EmitExponential(tops[i], subtrahend)), "total.all");
  }
  Set(row, top, total);
  return factor;
}

void OnlineSoftmax::EmitFinish() {
  for (size_t row = 0; row < totals_.size(); ++row) {
    Value* total = EmitTotal(static_cast<int>(row));
    for (int distance = 1; distance < sharers_; distance *= 2) {
      total = b_.CreateFAdd(total, device::EmitShuffleXor(b_, total, distance), "total.all");
    }
    b_.CreateStore(total, totals_[row]);
  }
}

}  // namespace tailor::cuda
