#include "codegen/cuda/attention/mma_attention.h"

namespace tailor::cuda {
namespace {

using device::EmitOp;
using device::Op;
using llvm::Value;

// One mma: 16 rows x 8 columns x 16 steps. Lane 4 g + t has rows g and g + 8 of the result, in columns 2 t and 2 t + 1.
// Two such results side by side are the lane's fragment of the left operand of the next mma.
constexpr int kColumns = 8, kDepth = 16;

}  // namespace

AttentionKernel::Lane MmaAttention::LaneOf(AttentionFrame& frame) {
  llvm::IRBuilderBase& b = frame.b;
  Value* group = b.CreateAnd(b.CreateLShr(frame.thread, 2), 7, "group");
  Value* first = b.CreateMul(b.CreateAnd(frame.thread, 3), frame.I32(2), "member.first");
  const auto places = [](int columns) {
    std::vector<Place> all;
    for (int i = 0; i < columns / kColumns * 4; ++i) all.push_back({i / 2 % 2, i / 4 * kColumns + i % 2});
    return all;
  };
  return {.rows = {group, b.CreateAdd(group, frame.I32(8))},
          .sharers = 4,
          .key = first,
          .column = first,
          .scores = places(frame.tile.warp_keys()),
          .sums = places(frame.tile.columns),
          .key_run = 2,
          .run = 2};
}

MmaAttention::MmaAttention(AttentionFrame& frame)
    : AttentionKernel(frame, LaneOf(frame)),
      multiply_(a_.operand == DType::kBF16 ? Op::kMmaM16N8K16Bf16 : Op::kMmaM16N8K16F16),
      pack_(a_.operand == DType::kBF16 ? Op::kPackBf16 : Op::kPackF16) {}

// Four 8 x 8 parts, two by two, of staged rows of `elements` elements, from `row` and `column` on. Lane 8 i + j passes
// the address of row j of part i.
std::vector<Value*> MmaAttention::EmitParts(Op load, Value* from, Value* row, int column, int elements, Second second) {
  Value* low = b_.CreateAnd(b_.CreateLShr(f_.thread, 3), 1);
  Value* high = b_.CreateAnd(b_.CreateLShr(f_.thread, 4), 1);
  const bool below = second == Second::kBelow;
  Value* part_row = b_.CreateAdd(b_.CreateMul(below ? low : high, f_.I32(8)), b_.CreateAnd(f_.thread, 7), "part.row");
  Value* part_column = b_.CreateMul(below ? high : low, f_.I32(16), "part.column");
  Value* address = At(from, b_.CreateAdd(row, part_row), StagedRowBytes(elements, 2), part_column);
  address = b_.CreateConstInBoundsGEP1_32(b_.getInt8Ty(), address, 2 * column);
  Value* loaded = EmitOp(b_, load, {address});
  std::vector<Value*> parts;
  for (unsigned i = 0; i < 4; ++i) parts.push_back(b_.CreateExtractValue(loaded, i, "fragment"));
  return parts;
}

void MmaAttention::EmitMultiply(const Value* const* lhs, Value* low, Value* high, Value** sums) {
  std::vector<Value*> operands;
  for (int i = 0; i < 4; ++i) operands.push_back(const_cast<Value*>(lhs[i]));
  operands.insert(operands.end(), {low, high, sums[0], sums[1], sums[2], sums[3]});
  Value* result = EmitOp(b_, multiply_, operands);
  for (unsigned i = 0; i < 4; ++i) sums[i] = b_.CreateExtractValue(result, i, "sum.next");
}

void MmaAttention::EmitQuery() {
  Value* rows = f_.Shared(f_.I32(QueryOffset(tile_)));
  for (int d = 0; d < tile_.depth; d += kDepth) {
    const auto parts = EmitParts(Op::kLdmatrixX4, rows, warp_row_, d, tile_.depth, Second::kBelow);
    query_.insert(query_.end(), parts.begin(), parts.end());
  }
}

std::vector<Value*> MmaAttention::EmitQK(Value* keys) {
  std::vector<Value*> sums(lane_.scores.size(), f_.F32(0));
  for (int d = 0; d < tile_.depth; d += kDepth) {
    for (int key = 0; key < tile_.warp_keys(); key += 2 * kColumns) {
      Value* row = b_.CreateAdd(slice_key_, f_.I32(key));
      const auto parts = EmitParts(Op::kLdmatrixX4, keys, row, d, tile_.depth, Second::kBeside);
      for (int i = 0; i < 2; ++i) {
        EmitMultiply(&query_[d / kDepth * 4], parts[2 * i], parts[2 * i + 1], &sums[(key / kColumns + i) * 4]);
      }
    }
  }
  return sums;
}

void MmaAttention::EmitPV(Value* values, const std::vector<Value*>& weights) {
  std::vector<Value*> sums;
  for (llvm::AllocaInst* slot : sums_) sums.push_back(b_.CreateLoad(b_.getFloatTy(), slot, "sum"));
  for (int key = 0; key < tile_.warp_keys(); key += kDepth) {
    std::vector<Value*> lhs;
    for (int i = 0; i < 4; ++i) {
      const int at = key / kColumns * 4 + 2 * i;
      lhs.push_back(EmitOp(b_, pack_, {weights[at], weights[at + 1]}));
    }
    Value* row = b_.CreateAdd(slice_key_, f_.I32(key));
    for (int v = 0; v < tile_.columns; v += 2 * kColumns) {
      const auto parts = EmitParts(Op::kLdmatrixX4Trans, values, row, v, tile_.columns, Second::kBelow);
      for (int i = 0; i < 2; ++i) {
        EmitMultiply(lhs.data(), parts[2 * i], parts[2 * i + 1], &sums[(v / kColumns + i) * 4]);
      }
    }
  }
  for (size_t i = 0; i < sums.size(); ++i) b_.CreateStore(sums[i], sums_[i]);
}

}  // namespace tailor::cuda
