#include "codegen/cuda/attention/online_softmax.h"

#include <limits>

#include "codegen/cuda/device_ir/device_intrinsics.h"
#include "codegen/cuda/device_ir/device_ops.h"

namespace tailor::cuda {

using llvm::Value;

OnlineSoftmax::OnlineSoftmax(AttentionFrame& frame, int rows, int sharers)
    : frame_(frame), b_(frame.b), sharers_(sharers) {
  for (int row = 0; row < rows; ++row) {
    running_max_.push_back(b_.CreateAlloca(b_.getFloatTy(), nullptr, "running_max"));
    running_sum_.push_back(b_.CreateAlloca(b_.getFloatTy(), nullptr, "running_sum"));
    Set(row, frame.F32(-std::numeric_limits<float>::infinity()), frame.F32(0));
  }
}

void OnlineSoftmax::Set(int row, Value* running_max, Value* running_sum) {
  b_.CreateStore(running_max, running_max_[row]);
  b_.CreateStore(running_sum, running_sum_[row]);
}

Value* OnlineSoftmax::EmitMax(Value* x, Value* y) {
  return b_.CreateBinaryIntrinsic(llvm::Intrinsic::maximum, x, y, nullptr, "max");
}

Value* OnlineSoftmax::EmitSubtrahend(Value* running_max) {
  Value* none = b_.CreateFCmpOEQ(running_max, frame_.F32(-std::numeric_limits<float>::infinity()), "none");
  return b_.CreateSelect(none, frame_.F32(0), running_max, "subtrahend");
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

// Maxima and sums are trees: a chain over 16 scores would take longer than the exponentials.
Value* OnlineSoftmax::EmitUpdate(int row, std::vector<Value*>& scores) {
  Value* before = EmitRunningMax(row);
  Value* running_max = EmitMax(before, EmitTree(scores, [&](Value* x, Value* y) { return EmitMax(x, y); }));
  for (int distance = 1; distance < sharers_; distance *= 2) {
    running_max = EmitMax(running_max, device::EmitShuffleXor(b_, running_max, distance));
  }
  Value* subtrahend = EmitSubtrahend(running_max);
  Value* factor = EmitExponential(before, subtrahend);
  for (Value*& score : scores) score = EmitExponential(score, subtrahend);
  Value* sum = EmitTree(scores, [&](Value* x, Value* y) { return b_.CreateFAdd(x, y, "running_sum.part"); });
  Value* running_sum = b_.CreateFMul(EmitRunningSum(row), factor, "running_sum.before");
  Set(row, running_max, b_.CreateFAdd(running_sum, sum, "running_sum.next"));
  return factor;
}

Value* OnlineSoftmax::EmitTree(std::vector<Value*> values, llvm::function_ref<Value*(Value*, Value*)> combine) {
  for (size_t distance = 1; distance < values.size(); distance *= 2) {
    for (size_t i = 0; i + distance < values.size(); i += 2 * distance) {
      values[i] = combine(values[i], values[i + distance]);
    }
  }
  return values[0];
}

Value* OnlineSoftmax::EmitMerge(int row, const std::vector<Value*>& maxima, const std::vector<Value*>& sums) {
  Value* running_max = maxima[0];
  for (Value* part : maxima) running_max = EmitMax(running_max, part);
  Value* subtrahend = EmitSubtrahend(running_max);
  Value* factor = EmitExponential(EmitRunningMax(row), subtrahend);
  Value* running_sum = frame_.F32(0);
  for (size_t i = 0; i < maxima.size(); ++i) {
    running_sum =
        b_.CreateFAdd(running_sum, b_.CreateFMul(sums[i], EmitExponential(maxima[i], subtrahend)), "running_sum.all");
  }
  Set(row, running_max, running_sum);
  return factor;
}

void OnlineSoftmax::EmitFinish() {
  for (size_t row = 0; row < running_sum_.size(); ++row) {
    Value* running_sum = EmitRunningSum(static_cast<int>(row));
    for (int distance = 1; distance < sharers_; distance *= 2) {
      running_sum = b_.CreateFAdd(running_sum, device::EmitShuffleXor(b_, running_sum, distance), "running_sum.all");
    }
    b_.CreateStore(running_sum, running_sum_[row]);
  }
}

}  // namespace tailor::cuda
