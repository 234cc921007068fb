#include "codegen/cuda/attention/simt_attention.h"

#include "codegen/cuda/device_ir/device_ops.h"
#include "codegen/cuda/device_ir/unroll.h"
#include "codegen/ir/emit_loop.h"

namespace tailor::cuda {
namespace {

using llvm::Value;

constexpr int kRows = 4, kSharers = 8, kFour = 4;

}  // namespace

AttentionKernel::Lane SimtAttention::LaneOf(AttentionFrame& frame) {
  llvm::IRBuilderBase& b = frame.b;
  Value* member = b.CreateAnd(frame.thread, kSharers - 1, "member");
  Value* first = b.CreateMul(b.CreateAnd(b.CreateLShr(frame.thread, 3), 3), frame.I32(kRows), "group.row");
  Lane lane{.sharers = kSharers,
            .key = member,
            .column = b.CreateMul(member, frame.I32(kFour), "member.column"),
            .key_run = 1,
            .run = kFour};
  for (int row = 0; row < kRows; ++row) {
    lane.rows.push_back(b.CreateAdd(first, frame.I32(row)));
    for (int key = 0; key < frame.tile.warp_keys(); key += kSharers) lane.scores.push_back({row, key});
    for (int column = 0; column < frame.tile.columns; column += kSharers * kFour) {
      for (int i = 0; i < kFour; ++i) lane.sums.push_back({row, column + i});
    }
  }
  return lane;
}

SimtAttention::SimtAttention(AttentionFrame& frame) : AttentionKernel(frame, LaneOf(frame)) {
  Value* warp = b_.CreateLShr(f_.thread, 5, "warp");
  Value* before = b_.CreateMul(warp, f_.I32(WarpWeightBytes(tile_)));
  weights_ = f_.Shared(b_.CreateAdd(before, f_.I32(WeightOffset(tile_))));
}

std::vector<Value*> SimtAttention::EmitFour(Value* from, Value* row, int row_bytes, Value* offset) {
  auto* type = llvm::FixedVectorType::get(b_.getFloatTy(), kFour);
  Value* four = b_.CreateAlignedLoad(type, At(from, row, row_bytes, offset), llvm::Align(16), "four");
  std::vector<Value*> elements;
  for (uint64_t i = 0; i < kFour; ++i) elements.push_back(b_.CreateExtractElement(four, i, "element"));
  return elements;
}

Value* SimtAttention::EmitMultiplyAdd(Value* x, Value* y, Value* sum) {
  return b_.CreateIntrinsic(llvm::Intrinsic::fma, {b_.getFloatTy()}, {x, y, sum}, nullptr, "sum.next");
}

std::vector<Value*> SimtAttention::EmitQK(Value* keys) {
  const int row_bytes = StagedRowBytes(tile_.depth, 4), count = tile_.warp_keys() / kSharers;
  Value* query = f_.Shared(f_.I32(QueryOffset(tile_)));
  std::vector<Value*> slots;
  for (size_t i = 0; i < lane_.scores.size(); ++i) slots.push_back(OpenRegister(0, "scores"));
  llvm::BasicBlock* latch = nullptr;
  EmitLoop(b_, b_.getInt64(0), b_.getInt64(tile_.depth), kFour, "depth", [&](Value* d) {
    Value* offset = b_.CreateMul(b_.CreateTrunc(d, b_.getInt32Ty()), f_.I32(4));
    std::vector<std::vector<Value*>> rhs;
    for (int key = 0; key < count; ++key) {
      Value* row = b_.CreateAdd(b_.CreateAdd(slice_key_, lane_.key), f_.I32(key * kSharers));
      rhs.push_back(EmitFour(keys, row, row_bytes, offset));
    }
    for (int row = 0; row < kRows; ++row) {
      const auto lhs = EmitFour(query, b_.CreateAdd(warp_row_, lane_.rows[row]), row_bytes, offset);
      for (int key = 0; key < count; ++key) {
        Value* slot = slots[row * count + key];
        Value* sum = b_.CreateLoad(b_.getFloatTy(), slot, "sum");
        for (int i = 0; i < kFour; ++i) sum = EmitMultiplyAdd(lhs[i], rhs[key][i], sum);
        b_.CreateStore(sum, slot);
      }
    }
    latch = b_.GetInsertBlock();
  });
  SetUnroll(latch, 2);
  std::vector<Value*> sums;
  for (Value* slot : slots) sums.push_back(b_.CreateLoad(b_.getFloatTy(), slot, "score"));
  return sums;
}

// The warp's lanes exchange weights through shared memory.
void SimtAttention::EmitPV(Value* values, const std::vector<Value*>& weights) {
  const int weight_bytes = StagedWeightRow(tile_) * 4, row_bytes = StagedRowBytes(tile_.columns, 4);
  const int row_sums = tile_.columns / kSharers;
  for (size_t i = 0; i < weights.size(); ++i) {
    Value* key = b_.CreateAdd(lane_.key, f_.I32(lane_.scores[i].offset));
    Value* at = At(weights_, lane_.rows[lane_.scores[i].row], weight_bytes, b_.CreateMul(key, f_.I32(4)));
    b_.CreateAlignedStore(weights[i], at, llvm::Align(4));
  }
  device::EmitOp(b_, device::Op::kWarpBarrier, {});
  llvm::BasicBlock* latch = nullptr;
  EmitLoop(b_, b_.getInt64(0), b_.getInt64(tile_.warp_keys()), kFour, "mix", [&](Value* first) {
    Value* key = b_.CreateTrunc(first, b_.getInt32Ty(), "key");
    std::vector<std::vector<Value*>> lhs;
    for (Value* row : lane_.rows) lhs.push_back(EmitFour(weights_, row, weight_bytes, b_.CreateMul(key, f_.I32(4))));
    for (int i = 0; i < kFour; ++i) {
      Value* row = b_.CreateAdd(b_.CreateAdd(slice_key_, key), f_.I32(i));
      for (int column = 0; column < row_sums; column += kFour) {
        Value* offset = b_.CreateAdd(b_.CreateMul(lane_.column, f_.I32(4)), f_.I32(column * kSharers * 4));
        const auto rhs = EmitFour(values, row, row_bytes, offset);
        for (int r = 0; r < kRows; ++r) {
          for (int c = 0; c < kFour; ++c) {
            llvm::AllocaInst* slot = sums_[r * row_sums + column + c];
            Value* sum = b_.CreateLoad(b_.getFloatTy(), slot, "sum");
            b_.CreateStore(EmitMultiplyAdd(lhs[r][i], rhs[c], sum), slot);
          }
        }
      }
    }
    latch = b_.GetInsertBlock();
  });
  SetUnroll(latch, 1);
  device::EmitOp(b_, device::Op::kWarpBarrier, {});  // before the next step's weights
}

}  // namespace tailor::cuda
