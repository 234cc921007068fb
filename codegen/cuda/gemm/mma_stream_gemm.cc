#include "codegen/cuda/gemm/mma_stream_gemm.h"

#include "codegen/contract/panels.h"
#include "codegen/cuda/device_ir/device_ops.h"
#include "codegen/cuda/device_ir/unroll.h"
#include "codegen/cuda/gemm/matmul_epilogue.h"
#include "codegen/ir/emit_loop.h"

namespace tailor::cuda {
namespace {

using device::EmitOp;
using device::Op;
using llvm::Value;

constexpr int kStreamRows = 8;   // per mma, which takes 16 columns by 16 steps of K
constexpr int kLaneColumns = 4;  // per lane, of its panel
constexpr int kLanePairs = 8;    // pairs of steps per lane and turn

}  // namespace

MmaStreamGemm::MmaStreamGemm(MatmulFrame& matmul)
    : matmul_(matmul), b_(matmul.b()), tile_(matmul.tile()), lhs_(matmul), rhs_(matmul) {
  slice_ = b_.CreateLShr(matmul.thread(), 5, "slice");
  Value* lane = b_.CreateAnd(matmul.thread(), 31, "lane");
  group_ = b_.CreateLShr(lane, 2, "group");
  member_ = b_.CreateAnd(lane, 3, "member");
  const auto wide = [&](Value* value) { return b_.CreateZExt(value, b_.getInt64Ty()); };
  Value* first = b_.CreateLShr(matmul.first_column(), 4, "panel.first");
  Value* panel = rhs_.Panel(b_.CreateAdd(first, wide(b_.CreateLShr(group_, 2))));
  constexpr int kColumnBytes = 2, kHalfBytes = 16;
  Value* offset = b_.CreateMul(b_.CreateAnd(group_, 3), b_.getInt32(kLaneColumns * kColumnBytes), "columns.bytes");
  address_ = b_.CreateGEP(b_.getInt8Ty(), panel, wide(offset), "panel.columns");
  swapped_ = b_.CreateGEP(b_.getInt8Ty(), panel, wide(b_.CreateXor(offset, kHalfBytes)), "panel.columns.swapped");
  for (int i = 0; i < tile_.rows; ++i) {
    sums_.push_back(matmul.Variable(b_.getFloatTy(), "sum"));
    b_.CreateStore(llvm::Constant::getNullValue(b_.getFloatTy()), sums_.back());
  }
}

// Words (<4 x i32>) of the lane's columns, with elements k and k + 1, k even. Zero beyond K; unchecked if the turn is
// whole.
Value* MmaStreamGemm::EmitWords(Value* k, bool whole) {
  constexpr int kStepBytes = 2 * kPanelColumns;
  auto* halves = llvm::FixedVectorType::get(b_.getInt16Ty(), kLaneColumns);
  const auto load = [&](Value* at) -> Value* {
    Value* existing = at;
    if (!whole) {
      Value* last = b_.CreateSub(matmul_.depth(), b_.getInt64(1));
      existing = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, at, last, nullptr, "k.existing");
    }
    Value* is_swapped = b_.CreateIsNotNull(b_.CreateAnd(existing, 4), "is.swapped");  // HasXorSwizzle
    Value* columns = b_.CreateSelect(is_swapped, swapped_, address_);
    Value* address = b_.CreateGEP(b_.getInt8Ty(), columns, b_.CreateMul(existing, b_.getInt64(kStepBytes)));
    Value* loaded = b_.CreateAlignedLoad(halves, address, llvm::Align(8), "panel");
    if (whole) return loaded;
    Value* inside = b_.CreateICmpSLT(at, matmul_.depth(), "inside");
    return b_.CreateSelect(inside, loaded, llvm::Constant::getNullValue(halves), "panel.inside");
  };
  Value *even = load(k), *odd = load(b_.CreateAdd(k, b_.getInt64(1)));
  auto* words = llvm::FixedVectorType::get(b_.getInt32Ty(), kLaneColumns);
  return b_.CreateBitCast(b_.CreateShuffleVector(even, odd, {0, 4, 1, 5, 2, 6, 3, 7}), words, "words");
}

// Words of two elements of row `row` + g of the lhs, for `pairs` pairs of steps from k on.
std::vector<Value*> MmaStreamGemm::EmitLhs(int row, Value* k, int pairs, bool whole) {
  Value* m = matmul_.Existing(matmul_.first_row(), b_.CreateAdd(group_, b_.getInt32(row)), matmul_.rows());
  std::vector<Value*> lhs;
  if (whole) {
    auto* words = llvm::FixedVectorType::get(b_.getInt32Ty(), kChunkElements / 2);
    for (int pair = 0; pair < pairs; pair += kChunkElements / 2) {
      Value* address = b_.CreateGEP(b_.getInt16Ty(), lhs_.Row(m), b_.CreateAdd(k, b_.getInt64(2 * pair)));
      Value* loaded = b_.CreateAlignedLoad(words, address, llvm::Align(16), "lhs");
      for (int i = 0; i < kChunkElements / 2; ++i) lhs.push_back(b_.CreateExtractElement(loaded, i, "lhs.pair"));
    }
    return lhs;
  }
  for (int pair = 0; pair < pairs; ++pair) {
    const auto word = [&](int i) {
      Value* element = lhs_.EmitElement(m, b_.CreateAdd(k, b_.getInt64(2 * pair + i), "k.element"));
      return b_.CreateZExt(element, b_.getInt32Ty());
    };
    Value* low = word(0);
    lhs.push_back(b_.CreateOr(low, b_.CreateShl(word(1), 16), "lhs.pair"));
  }
  return lhs;
}

// The lane's `pairs` pairs of steps from k on. Each mma takes two pairs; of the lane's columns first the lower half
// (two words), then the upper one.
void MmaStreamGemm::EmitPairs(Value* k, int pairs, bool whole) {
  const Op multiply = matmul_.types().operand == DType::kBF16 ? Op::kMmaM16N8K16Bf16 : Op::kMmaM16N8K16F16;
  std::vector<Value*> rhs;
  for (int pair = 0; pair < pairs; ++pair) {
    rhs.push_back(EmitWords(b_.CreateAdd(k, b_.getInt64(2 * pair), "k.pair"), whole));
  }
  for (int row = 0; row < tile_.rows; row += kStreamRows) {
    const std::vector<Value*> lhs = EmitLhs(row, k, pairs, whole);
    for (int pair = 0; pair < pairs; pair += 2) {
      for (int half = 0; half < 2; ++half) {
        std::vector<Value*> operands;
        for (int i = 0; i < 4; ++i) {
          operands.push_back(b_.CreateExtractElement(rhs[pair + i / 2], 2 * half + i % 2, "rhs.pair"));
        }
        operands.insert(operands.end(), {lhs[pair], lhs[pair + 1]});
        for (int i = 0; i < 4; ++i)
          operands.push_back(b_.CreateLoad(b_.getFloatTy(), Sum(row / kStreamRows, half, i), "sum"));
        Value* sums = EmitOp(b_, multiply, operands);
        for (unsigned i = 0; i < 4; ++i) {
          b_.CreateStore(b_.CreateExtractValue(sums, i, "sum.next"), Sum(row / kStreamRows, half, i));
        }
      }
    }
  }
}

// Steps k, ..., k + 63 of the turn: if whole, all pairs of a lane at once, else two pairs at a time.
void MmaStreamGemm::EmitTurn(Value* k, bool whole) {
  Value* own = b_.CreateMul(b_.CreateZExt(member_, b_.getInt64Ty()), b_.getInt64(2 * kLanePairs));
  own = b_.CreateAdd(k, own, "k.lane");
  if (whole) return EmitPairs(own, kLanePairs, whole);
  llvm::BasicBlock* latch = nullptr;
  EmitLoop(b_, b_.getInt64(0), b_.getInt64(2 * kLanePairs), 4, "pairs", [&](Value* step) {
    EmitPairs(b_.CreateAdd(own, step, "k.pairs"), 2, whole);
    latch = b_.GetInsertBlock();
  });
  SetUnroll(latch, 1);
}

// Whole turns if the lhs may be read 16 bytes at once, then the remainder.
void MmaStreamGemm::Emit() {
  const int turn = tile_.slices * tile_.depth;
  Value* k = b_.CreateMul(b_.CreateZExt(slice_, b_.getInt64Ty()), b_.getInt64(tile_.depth));
  k = b_.CreateAdd(matmul_.k_begin(), k, "k.first");
  if (lhs_.AreRuns()) {
    Value* whole = b_.CreateAnd(matmul_.k_end(), ~uint64_t{static_cast<uint64_t>(tile_.depth - 1)}, "whole.turns");
    Value* end = b_.CreateSelect(lhs_.IsAligned(), whole, b_.getInt64(0), "k.end");
    k = EmitLoop(b_, k, end, turn, "k", [&](Value* at) { EmitTurn(at, /*whole=*/true); });
  }
  EmitLoop(b_, k, matmul_.k_end(), turn, "k.rest", [&](Value* at) { EmitTurn(at, /*whole=*/false); });
}

// A lane has two rows of four neighbouring columns.
void MmaStreamGemm::EmitStage(Value* first) {
  Value* panel = b_.CreateMul(b_.CreateLShr(group_, 2), b_.getInt32(kPanelColumns));
  Value* columns = b_.CreateMul(b_.CreateAnd(group_, 3), b_.getInt32(kLaneColumns));
  Value* lane_column = b_.CreateAdd(panel, columns, "lane.column");
  for (int row = 0; row < tile_.rows; row += kStreamRows) {
    for (int i = 0; i < 4; ++i) {
      Value* at = b_.CreateAdd(b_.CreateMul(member_, b_.getInt32(2)), b_.getInt32(row + i % 2));
      at = b_.CreateSub(at, first, "staged.row");
      for (int half = 0; half < 2; ++half) {
        Value* column = b_.CreateAdd(lane_column, b_.getInt32(2 * half + i / 2));
        Value* sum = b_.CreateLoad(b_.getFloatTy(), Sum(row / kStreamRows, half, i), "sum");
        b_.CreateAlignedStore(sum, StagedSum(matmul_, at, column, slice_), llvm::Align(4));
      }
    }
  }
}

}  // namespace tailor::cuda
