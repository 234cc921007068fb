#include "codegen/cuda/matrix_loop.h"

#include "codegen/cuda/device_intrinsics.h"
#include "codegen/cuda/device_ops.h"
#include "codegen/cuda/product_epilogue.h"
#include "codegen/emit_loop.h"
#include "codegen/gemm/panels.h"

namespace tailor {
namespace {

using device::EmitOp;
using device::Op;
using llvm::Value;

constexpr int kChunkBytes = 16;
constexpr int kDepth = 16;  // of one warp product: 16 x 8 x 16
constexpr int kRows = 16;
constexpr int kLanes = 32;

}  // namespace

MatrixLoop::MatrixLoop(ProductFrame& product)
    : product_(product),
      b_(product.b()),
      tile_(product.tile()),
      pairs_(product.types().operand == DType::kBF16),
      left_(product),
      right_(product) {
  Value* thread = product.thread();
  Value* warp = b_.CreateLShr(thread, 5, "warp");
  lane_ = b_.CreateAnd(thread, kLanes - 1, "lane");
  group_ = b_.CreateLShr(lane_, 2, "group");
  member_ = b_.CreateAnd(lane_, 3, "member");
  Value* across = I32(tile_.columns / tile_.part_columns);
  warp_row_ = b_.CreateMul(b_.CreateUDiv(warp, across), I32(tile_.part_rows), "warp.row");
  warp_column_ = b_.CreateMul(b_.CreateURem(warp, across), I32(tile_.part_columns), "warp.column");
  for (int i = 0; i < tile_.part_rows * tile_.part_columns / kLanes; ++i) {
    sums_.push_back(b_.CreateAlloca(b_.getFloatTy(), nullptr, "sum"));
    b_.CreateStore(llvm::Constant::getNullValue(b_.getFloatTy()), sums_.back());
  }
}

// Element `element` of the warp product at rows 16 * row and half `half` of panel `panel`.
llvm::AllocaInst* MatrixLoop::Sum(int row, int panel, int half, int element) {
  const int panels = tile_.part_columns / kPanelColumns;
  return sums_[((row * panels + panel) * 2 + half) * 4 + element];
}

Value* MatrixLoop::StageOf(Value* k) {
  Value* step = b_.CreateTrunc(b_.CreateUDiv(k, b_.getInt64(tile_.depth)), b_.getInt32Ty(), "step");
  return b_.CreateMul(b_.CreateURem(step, I32(tile_.stages)), I32(StageBytes()), "stage");
}

Value* MatrixLoop::Shared(Value* stage, Value* offset) {
  return b_.CreateInBoundsGEP(b_.getInt8Ty(), product_.shared(), b_.CreateAdd(stage, offset), "shared.address");
}

// ---- Copies ---------------------------------------------------------------------------------------

// Rows of the left operand are depth / 8 chunks. Chunk c of row r lies where c ^ (r / 2 % 4) does for rows of 64 bytes,
// of which two fill all banks, and where c ^ (r % 8) does for rows of 128.
MatrixLoop::Chunk MatrixLoop::LeftChunk(int i) {
  const int chunks = tile_.depth / kChunkElements;
  Value* index = b_.CreateAdd(product_.thread(), I32(i * product_.version().threads), "left.chunk");
  Value *row = b_.CreateUDiv(index, I32(chunks)), *chunk = b_.CreateURem(index, I32(chunks));
  Value* place = b_.CreateXor(chunk, LeftPermutation(row), "place");
  Value* offset = b_.CreateAdd(b_.CreateMul(row, I32(tile_.depth * 2)), b_.CreateMul(place, I32(kChunkBytes)));
  return {row, b_.CreateMul(chunk, I32(kChunkElements), "chunk.k"), offset};
}

Value* MatrixLoop::LeftPermutation(Value* row) {
  const int chunks = tile_.depth / kChunkElements;
  return b_.CreateAnd(b_.CreateUDiv(row, I32(kLanes / 4 / chunks)), chunks - 1, "permutation");
}

void MatrixLoop::EmitCopyLeft(Value* k, Value* stage) {
  const Contraction& c = product_.contraction();
  for (int i = 0; i < LeftBytes() / kChunkBytes / product_.version().threads; ++i) {
    const Chunk chunk = LeftChunk(i);
    Value* row = left_.Row(product_.Existing(product_.first_row(), chunk.row, product_.rows()));
    Value* at = b_.CreateAdd(k, b_.CreateZExt(chunk.depth, b_.getInt64Ty()), "k.chunk");
    Value* from = b_.CreateGEP(b_.getInt16Ty(), row, at, "left.chunk.address");
    Value* bytes = I32(kChunkBytes);
    if (!product_.IsMultiple(c.k, tile_.depth)) {
      Value* left = b_.CreateSub(product_.depth(), at, "k.left");
      left = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, left, b_.getInt64(kChunkElements));
      left = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, left, b_.getInt64(0));
      bytes = b_.CreateTrunc(b_.CreateShl(left, 1), b_.getInt32Ty(), "chunk.bytes");
    }
    EmitOp(b_, Op::kCpAsync16, {Shared(stage, chunk.offset), from, bytes});
  }
}

std::vector<Value*> MatrixLoop::EmitGatherLeft(Value* k) {
  std::vector<Value*> chunks;
  for (int i = 0; i < LeftBytes() / kChunkBytes / product_.version().threads; ++i) {
    const Chunk chunk = LeftChunk(i);
    Value* m = product_.Existing(product_.first_row(), chunk.row, product_.rows());
    chunks.push_back(left_.EmitGathered(m, b_.CreateAdd(k, b_.CreateZExt(chunk.depth, b_.getInt64Ty()), "k.chunk")));
  }
  return chunks;
}

void MatrixLoop::EmitPutLeft(llvm::ArrayRef<Value*> chunks, Value* stage) {
  for (size_t i = 0; i < chunks.size(); ++i) {
    b_.CreateAlignedStore(chunks[i], Shared(stage, LeftChunk(i).offset), llvm::Align(kChunkBytes));
  }
}

// A panel's part is 2 * depth chunks that lie side by side. A row of pairs is four of them, of which words 4 t to 4 t +
// 3 are columns; two rows fill all banks, so in every second two rows halves change places. A row of halves is two
// chunks, four rows fill all banks, and halves change places in every second four.
Value* MatrixLoop::RightPlace(Value* chunk) {
  const int row_chunks = pairs_ ? 4 : 2;
  Value* second = b_.CreateAnd(b_.CreateUDiv(chunk, I32(8)), 1, "second.half");
  return b_.CreateXor(chunk, b_.CreateMul(second, I32(row_chunks / 2)), "place");
}

void MatrixLoop::EmitCopyRight(Value* k, Value* stage) {
  const int chunks = 2 * tile_.depth;  // of a panel
  const int threads = product_.version().threads;
  const auto wide = [&](Value* value) { return b_.CreateZExt(value, b_.getInt64Ty()); };
  for (int i = 0; i < tile_.columns / kPanelColumns * chunks / threads; ++i) {
    Value* index = b_.CreateAdd(product_.thread(), I32(i * threads), "right.chunk");
    Value *panel = b_.CreateUDiv(index, I32(chunks)), *chunk = b_.CreateURem(index, I32(chunks));
    Value* first = b_.CreateLShr(product_.first_column(), 4, "panel.first");
    Value* address = right_.Panel(b_.CreateAdd(first, wide(panel)));
    Value* within = b_.CreateAdd(b_.CreateMul(k, b_.getInt64(2 * kPanelColumns)),
                                 wide(b_.CreateMul(chunk, I32(kChunkBytes))), "right.within");
    Value* bytes = I32(kChunkBytes);
    if (!product_.IsMultiple(product_.contraction().k, tile_.depth)) {
      bytes = b_.CreateSelect(b_.CreateICmpSLT(within, right_.bytes()), bytes, I32(0), "chunk.bytes");
    }
    Value* offset = b_.CreateAdd(b_.CreateMul(panel, I32(chunks)), RightPlace(chunk));
    offset = b_.CreateAdd(b_.CreateMul(offset, I32(kChunkBytes)), I32(LeftBytes()), "right.offset");
    EmitOp(b_, Op::kCpAsync16, {Shared(stage, offset), b_.CreateGEP(b_.getInt8Ty(), address, within), bytes});
  }
}

// ---- Products -------------------------------------------------------------------------------------

// Four registers for each 16 rows. Lane l has the address of row l % 16, the second eight steps of K where l >= 16.
std::vector<Value*> MatrixLoop::EmitLeftFragments(Value* stage, int depth) {
  std::vector<Value*> fragments;
  Value* lane_row = b_.CreateAnd(lane_, kRows - 1, "lane.row");
  Value* chunk = b_.CreateAdd(b_.CreateLShr(lane_, 4), I32(depth / kChunkElements), "lane.chunk");
  Value* place = b_.CreateMul(b_.CreateXor(chunk, LeftPermutation(lane_row)), I32(kChunkBytes), "lane.place");
  Value* first = b_.CreateMul(b_.CreateAdd(warp_row_, lane_row), I32(tile_.depth * 2));
  Value* address = Shared(stage, b_.CreateAdd(first, place));
  for (int row = 0; row < tile_.part_rows; row += kRows) {
    Value* at = b_.CreateConstInBoundsGEP1_32(b_.getInt8Ty(), address, row * tile_.depth * 2, "left.fragment.address");
    Value* loaded = EmitOp(b_, Op::kLdmatrixX4, {at});
    for (unsigned i = 0; i < 4; ++i) fragments.push_back(b_.CreateExtractValue(loaded, i, "left.fragment"));
  }
  return fragments;
}

// Two registers for each half of the panel: the two steps of K pairs that the lane has. A word of a pair panel is such
// a register as it is; the halves of the panel are its even and its odd columns, which lie side by side. Else ldmatrix
// makes the pairs: lane l has the address of step l % 16, columns 8 to 15 where l >= 16.
std::vector<Value*> MatrixLoop::EmitRightFragments(Value* stage, int panel, int depth) {
  const int panel_bytes = tile_.depth * 2 * kPanelColumns;
  Value* panels = b_.CreateMul(b_.CreateLShr(warp_column_, 4), I32(panel_bytes), "warp.panels");
  Value* base = b_.CreateAdd(panels, I32(LeftBytes() + panel * panel_bytes + depth * 2 * kPanelColumns));
  std::vector<Value*> fragments(4);  // [half][register]
  if (pairs_) {
    constexpr int kRowBytes = 64;
    Value* half = b_.CreateMul(b_.CreateLShr(member_, 1), I32(kRowBytes / 2), "second.half");
    Value* column = b_.CreateXor(b_.CreateMul(group_, I32(8)), half, "column.bytes");
    Value* offset = b_.CreateAdd(base, b_.CreateAdd(b_.CreateMul(member_, I32(kRowBytes)), column));
    Value* address = Shared(stage, offset);
    for (unsigned i = 0; i < 2; ++i) {
      Value* at = b_.CreateConstInBoundsGEP1_32(b_.getInt8Ty(), address, i * 4 * kRowBytes, "right.fragment.address");
      auto* words = llvm::FixedVectorType::get(b_.getInt32Ty(), 2);
      Value* loaded = b_.CreateAlignedLoad(words, at, llvm::Align(8), "right.fragments");
      for (unsigned h = 0; h < 2; ++h) fragments[2 * h + i] = b_.CreateExtractElement(loaded, h, "right.fragment");
    }
    return fragments;
  }
  constexpr int kRowBytes = 32;
  Value* step = b_.CreateAnd(lane_, kDepth - 1, "lane.step");
  Value* half = b_.CreateXor(b_.CreateLShr(lane_, 4), b_.CreateAnd(b_.CreateLShr(step, 2), 1), "lane.half");
  Value* within = b_.CreateAdd(b_.CreateMul(step, I32(kRowBytes)), b_.CreateMul(half, I32(kChunkBytes)));
  Value* loaded = EmitOp(b_, Op::kLdmatrixX4Trans, {Shared(stage, b_.CreateAdd(base, within))});
  for (unsigned i = 0; i < 4; ++i) fragments[i] = b_.CreateExtractValue(loaded, i, "right.fragment");
  return fragments;
}

void MatrixLoop::EmitMultiply(Value* stage) {
  const Op multiply = pairs_ ? Op::kMmaM16N8K16Bf16 : Op::kMmaM16N8K16F16;
  for (int depth = 0; depth < tile_.depth; depth += kDepth) {
    const std::vector<Value*> left = EmitLeftFragments(stage, depth);
    for (int panel = 0; panel < tile_.part_columns / kPanelColumns; ++panel) {
      const std::vector<Value*> right = EmitRightFragments(stage, panel, depth);
      for (int row = 0; row < tile_.part_rows / kRows; ++row) {
        for (int half = 0; half < 2; ++half) {
          std::vector<Value*> operands(left.begin() + 4 * row, left.begin() + 4 * row + 4);
          operands.insert(operands.end(), {right[2 * half], right[2 * half + 1]});
          for (int i = 0; i < 4; ++i) {
            operands.push_back(b_.CreateLoad(b_.getFloatTy(), Sum(row, panel, half, i), "sum"));
          }
          Value* sums = EmitOp(b_, multiply, operands);
          for (unsigned i = 0; i < 4; ++i) {
            b_.CreateStore(b_.CreateExtractValue(sums, i, "sum.next"), Sum(row, panel, half, i));
          }
        }
      }
    }
  }
}

// ---- The loop -------------------------------------------------------------------------------------

// While one step is multiplied, the copies of the next stages - 1 are under way, one group each.
void MatrixLoop::EmitSteps(bool left_is_aligned) {
  const int ahead = tile_.stages - 1;
  for (int step = 0; step < ahead; ++step) {
    Value* k = b_.getInt64(step * tile_.depth);
    EmitCopyRight(k, StageOf(k));
    left_is_aligned ? EmitCopyLeft(k, StageOf(k)) : EmitPutLeft(EmitGatherLeft(k), StageOf(k));
    EmitOp(b_, Op::kCpAsyncCommit, {});
  }
  EmitLoop(b_, b_.getInt64(0), product_.depth(), tile_.depth, "k", [&](Value* k) {
    EmitOp(b_, Op::kCpAsyncWait, {I32(ahead - 1)});
    device::EmitBarrier(b_);
    Value* next = b_.CreateAdd(k, b_.getInt64(ahead * tile_.depth), "k.ahead");
    Value* stage = StageOf(next);  // which all threads are done with
    EmitCopyRight(next, stage);
    std::vector<Value*> gathered;
    if (left_is_aligned) {
      EmitCopyLeft(next, stage);
    } else {
      gathered = EmitGatherLeft(next);
    }
    EmitOp(b_, Op::kCpAsyncCommit, {});
    EmitMultiply(StageOf(k));
    EmitPutLeft(gathered, stage);
  });
  EmitOp(b_, Op::kCpAsyncWait, {I32(0)});
}

void MatrixLoop::Emit() {
  EmitIf(b_, b_.CreateICmpSGT(product_.depth(), b_.getInt64(0), "any.depth"), "multiply", [&] {
    if (!left_.AreRuns()) return EmitSteps(false);
    EmitIf(b_, left_.IsAligned(), "aligned", [&] { EmitSteps(true); });
    EmitIf(b_, b_.CreateNot(left_.IsAligned()), "unaligned", [&] { EmitSteps(false); });
  });
}

void MatrixLoop::EmitStage(Value* first) {
  Value* in_pass = b_.CreateICmpULT(b_.CreateSub(warp_row_, first), I32(tile_.pass_rows), "in.pass");
  EmitIf(b_, in_pass, "stage", [&] {
    for (int row = 0; row < tile_.part_rows / kRows; ++row) {
      for (int upper = 0; upper < 2; ++upper) {
        Value* at = b_.CreateAdd(b_.CreateSub(warp_row_, first), group_);
        at = b_.CreateAdd(at, I32(row * kRows + upper * 8), "staged.row");
        for (int panel = 0; panel < tile_.part_columns / kPanelColumns; ++panel) EmitStageRow(at, row, upper, panel);
      }
    }
  });
}

// Of each half of the panel the lane has two neighbours; of pair panels, whose halves are the even and the odd columns,
// that makes four neighbours in all.
void MatrixLoop::EmitStageRow(Value* at, int row, int upper, int panel) {
  for (int half = 0; half < 2; ++half) {
    for (int i = 0; i < 2; ++i) {
      const int within = pairs_ ? 2 * i + half : 8 * half + i;
      Value* column = b_.CreateAdd(b_.CreateMul(member_, I32(pairs_ ? 4 : 2)), I32(panel * kPanelColumns + within));
      Value* address = StagedSum(product_, at, b_.CreateAdd(warp_column_, column));
      b_.CreateAlignedStore(b_.CreateLoad(b_.getFloatTy(), Sum(row, panel, half, 2 * upper + i), "sum"), address,
                            llvm::Align(4));
    }
  }
}

}  // namespace tailor
