#include "codegen/cuda/gemm/mma_gemm.h"

#include "codegen/contract/panels.h"
#include "codegen/cuda/device_ir/device_intrinsics.h"
#include "codegen/cuda/device_ir/device_ops.h"
#include "codegen/cuda/device_ir/unroll.h"
#include "codegen/cuda/gemm/lhs_gather.h"
#include "codegen/cuda/gemm/matmul_epilogue.h"
#include "codegen/ir/emit_loop.h"

namespace tailor::cuda {
namespace {

using device::EmitOp;
using device::Op;
using llvm::Value;

// One mma: 16 columns (a panel) x 8 rows x 32 bytes along K. The panel is the first operand, so that the words a lane
// reads at once go to consecutive registers; the result is transposed.
constexpr int kRows = 8, kDepthBytes = 32;
constexpr int kLanes = 32;

}  // namespace

MmaGemm::MmaGemm(MatmulFrame& matmul)
    : matmul_(matmul),
      b_(matmul.b()),
      tile_(matmul.tile()),
      element_(SizeOf(matmul.types().operand)),
      chunk_elements_(kChunkBytes / element_),
      depth_(kDepthBytes / element_),
      lhs_(matmul),
      rhs_(matmul) {
  Value* thread = matmul.thread();
  Value* warp = b_.CreateLShr(thread, 5, "warp");
  lane_ = b_.CreateAnd(thread, kLanes - 1, "lane");
  group_ = b_.CreateLShr(lane_, 2, "group");
  member_ = b_.CreateAnd(lane_, 3, "member");
  Value* across = I32(tile_.columns / tile_.part_columns);
  warp_row_ = b_.CreateMul(b_.CreateUDiv(warp, across), I32(tile_.part_rows), "warp.row");
  warp_column_ = b_.CreateMul(b_.CreateURem(warp, across), I32(tile_.part_columns), "warp.column");
  for (int i = 0; i < tile_.part_rows * tile_.part_columns / kLanes; ++i) {
    sums_.push_back(matmul.Variable(b_.getFloatTy(), "sum"));
    b_.CreateStore(llvm::Constant::getNullValue(b_.getFloatTy()), sums_.back());
  }
}

// Element `element` of the warp's mma of panel `panel` and rows 8 * row, ..., 8 * row + 7 of the warp's part.
llvm::AllocaInst* MmaGemm::Sum(int row, int panel, int element) {
  return sums_[(row * (tile_.part_columns / kPanelColumns) + panel) * 4 + element];
}

Value* MmaGemm::StageOf(Value* k) {
  Value* step = b_.CreateTrunc(b_.CreateUDiv(k, b_.getInt64(tile_.depth)), b_.getInt32Ty(), "step");
  return b_.CreateMul(b_.CreateURem(step, I32(tile_.stages)), I32(StageBytes()), "stage");
}

Value* MmaGemm::Shared(Value* stage, Value* offset) {
  return b_.CreateInBoundsGEP(b_.getInt8Ty(), matmul_.shared(), b_.CreateAdd(stage, offset), "shared.address");
}

// ---- Copies ---------------------------------------------------------------------------------------

// Rows of the lhs are RowBytes() / 16 chunks. XOR swizzle: chunk c of row r is at c ^ (r / 2 % 4) for rows of 64 bytes,
// of which two fill all banks, and at c ^ (r % 8) for rows of 128.
MmaGemm::Chunk MmaGemm::LhsChunk(int i) {
  const int chunks = RowBytes() / kChunkBytes;
  Value* index = b_.CreateAdd(matmul_.thread(), I32(i * matmul_.version().threads), "lhs.chunk");
  Value *row = b_.CreateUDiv(index, I32(chunks)), *chunk = b_.CreateURem(index, I32(chunks));
  Value* place = b_.CreateXor(chunk, LhsPermutation(row), "place");
  Value* offset = b_.CreateAdd(b_.CreateMul(row, I32(RowBytes())), b_.CreateMul(place, I32(kChunkBytes)));
  return {row, b_.CreateMul(chunk, I32(chunk_elements_), "chunk.k"), offset};
}

Value* MmaGemm::LhsPermutation(Value* row) {
  const int chunks = RowBytes() / kChunkBytes;
  return b_.CreateAnd(b_.CreateUDiv(row, I32(kLanes / 4 / chunks)), chunks - 1, "permutation");
}

// Bytes of each chunk of the step at `k`, if all steps are whole: 0 after the last step, as copies run ahead.
Value* MmaGemm::WholeStepBytes(Value* k) {
  return b_.CreateSelect(b_.CreateICmpSLT(k, matmul_.k_end()), I32(kChunkBytes), I32(0), "step.bytes");
}

void MmaGemm::EmitCopyLhs(Value* k, Value* stage) {
  const Contraction& c = matmul_.contraction();
  for (int i = 0; i < LhsBytes() / kChunkBytes / matmul_.version().threads; ++i) {
    const Chunk chunk = LhsChunk(i);
    Value* row = lhs_.Row(matmul_.Existing(matmul_.first_row(), chunk.row, matmul_.rows()));
    Value* at = b_.CreateAdd(k, b_.CreateZExt(chunk.depth, b_.getInt64Ty()), "k.chunk");
    Value* from = b_.CreateGEP(b_.getIntNTy(8 * element_), row, at, "lhs.chunk.address");
    Value* bytes = nullptr;
    if (matmul_.IsMultiple(c.k, tile_.depth)) {
      bytes = WholeStepBytes(k);
    } else {
      Value* left = b_.CreateSub(matmul_.k_end(), at, "k.left");
      left = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, left, b_.getInt64(chunk_elements_));
      left = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, left, b_.getInt64(0));
      bytes = b_.CreateTrunc(b_.CreateMul(left, b_.getInt64(element_)), b_.getInt32Ty(), "chunk.bytes");
    }
    EmitOp(b_, Op::kCpAsync16, {Shared(stage, chunk.offset), from, bytes});
  }
}

// A panel's part is contiguous chunks, as many per step of K as an element has bytes. Eight chunks fill all banks. XOR
// swizzle: odd groups of 8 chunks swap halves, unless they are swapped in memory already (HasXorSwizzle).
Value* MmaGemm::RhsPlace(Value* chunk) {
  if (HasXorSwizzle(matmul_.types().operand)) return chunk;
  Value* second = b_.CreateAnd(b_.CreateUDiv(chunk, I32(8)), 1, "second.half");
  return b_.CreateXor(chunk, b_.CreateMul(second, I32(element_ / 2)), "place");
}

void MmaGemm::EmitCopyRhs(Value* k, Value* stage) {
  const int chunks = kPanelColumns * RowBytes() / kChunkBytes;  // of a panel
  const int threads = matmul_.version().threads;
  const auto wide = [&](Value* value) { return b_.CreateZExt(value, b_.getInt64Ty()); };
  for (int i = 0; i < tile_.columns / kPanelColumns * chunks / threads; ++i) {
    Value* index = b_.CreateAdd(matmul_.thread(), I32(i * threads), "rhs.chunk");
    Value *panel = b_.CreateUDiv(index, I32(chunks)), *chunk = b_.CreateURem(index, I32(chunks));
    Value* first = b_.CreateLShr(matmul_.first_column(), 4, "panel.first");
    Value* address = rhs_.Panel(b_.CreateAdd(first, wide(panel)));
    Value* within = b_.CreateAdd(b_.CreateMul(k, b_.getInt64(element_ * kPanelColumns)),
                                 wide(b_.CreateMul(chunk, I32(kChunkBytes))), "rhs.within");
    Value* end = b_.CreateMul(matmul_.k_end(), b_.getInt64(element_ * kPanelColumns), "panel.end");
    Value* bytes = matmul_.IsMultiple(matmul_.contraction().k, tile_.depth)
                       ? WholeStepBytes(k)
                       : b_.CreateSelect(b_.CreateICmpSLT(within, end), I32(kChunkBytes), I32(0), "chunk.bytes");
    Value* offset = b_.CreateAdd(b_.CreateMul(panel, I32(chunks)), RhsPlace(chunk));
    offset = b_.CreateAdd(b_.CreateMul(offset, I32(kChunkBytes)), I32(LhsBytes()), "rhs.offset");
    EmitOp(b_, Op::kCpAsync16, {Shared(stage, offset), b_.CreateGEP(b_.getInt8Ty(), address, within), bytes});
  }
}

// ---- Matmuls -------------------------------------------------------------------------------------

// Two registers per 8 rows. For 16 rows at once lane l passes the address of row l % 8, plus 8 if l >= 16, at the
// second chunk of K if l / 8 is odd. Two 16-bit elements of ldmatrix may be one of 32 bits.
std::vector<Value*> MmaGemm::EmitLhsFragments(Value* stage, int depth) {
  std::vector<Value*> fragments;
  Value* lane_row = b_.CreateOr(b_.CreateAnd(lane_, 7), b_.CreateAnd(b_.CreateLShr(lane_, 1), 8), "lane.row");
  Value* half = b_.CreateAnd(b_.CreateLShr(lane_, 3), 1, "lane.half");
  Value* chunk = b_.CreateAdd(half, I32(depth / chunk_elements_), "lane.chunk");
  Value* place = b_.CreateMul(b_.CreateXor(chunk, LhsPermutation(lane_row)), I32(kChunkBytes), "lane.place");
  Value* first = b_.CreateMul(b_.CreateAdd(warp_row_, lane_row), I32(RowBytes()));
  Value* address = Shared(stage, b_.CreateAdd(first, place));
  for (int row = 0; row < tile_.part_rows; row += 2 * kRows) {
    Value* at = b_.CreateConstInBoundsGEP1_32(b_.getInt8Ty(), address, row * RowBytes(), "lhs.fragment.address");
    Value* loaded = EmitOp(b_, Op::kLdmatrixX4, {at});
    for (unsigned i = 0; i < 4; ++i) {
      Value* fragment = b_.CreateExtractValue(loaded, i, "lhs.fragment");
      fragments.push_back(element_ == 4 ? RoundToTf32(fragment) : fragment);
    }
  }
  return fragments;
}

// Four registers: for each half of the panel's columns and each chunk of steps of K, the lane's steps. The transposing
// ldmatrix makes the pairs: lane l passes the address of step l % 8, plus 8 if l >= 16, at columns 8 to 15 if l / 8 is
// odd.
std::vector<Value*> MmaGemm::EmitRhsFragments(Value* stage, int panel, int depth) {
  const int panel_bytes = RowBytes() * kPanelColumns;
  Value* panels = b_.CreateMul(b_.CreateLShr(warp_column_, 4), I32(panel_bytes), "warp.panels");
  Value* base = b_.CreateAdd(panels, I32(LhsBytes() + panel * panel_bytes + depth * element_ * kPanelColumns));
  if (element_ == 4) return EmitTf32RhsFragments(b_.CreateAdd(stage, base));
  std::vector<Value*> fragments;
  constexpr int kRowBytes = 32;
  Value* step = b_.CreateOr(b_.CreateAnd(lane_, 7), b_.CreateAnd(b_.CreateLShr(lane_, 1), 8), "lane.step");
  Value* half = b_.CreateXor(b_.CreateLShr(lane_, 3), b_.CreateLShr(step, 2), "lane.half");
  Value* within = b_.CreateMul(b_.CreateAnd(half, 1), I32(kChunkBytes));
  within = b_.CreateAdd(b_.CreateMul(step, I32(kRowBytes)), within, "within");
  Value* loaded = EmitOp(b_, Op::kLdmatrixX4Trans, {Shared(stage, b_.CreateAdd(base, within))});
  for (unsigned i = 0; i < 4; ++i) fragments.push_back(b_.CreateExtractValue(loaded, i, "rhs.fragment"));
  return fragments;
}

// The same for f32, which ldmatrix cannot transpose: steps `member` and `member + 4` of columns `group` and `group + 8`
// of the panel at `panel` (i32, in shared memory). Odd pairs of steps have their halves of columns swapped.
std::vector<Value*> MmaGemm::EmitTf32RhsFragments(Value* panel) {
  constexpr int kRowBytes = 64, kHalfBytes = 32, kSecondSteps = 4 * kRowBytes;
  Value* swapped = b_.CreateMul(b_.CreateLShr(member_, 1), I32(kHalfBytes), "swapped");
  Value* lane = b_.CreateAdd(b_.CreateMul(member_, I32(kRowBytes)), b_.CreateMul(group_, I32(4)), "lane.step");
  std::vector<Value*> fragments;
  for (int steps : {0, kSecondSteps}) {
    for (int half : {0, kHalfBytes}) {
      Value* within = b_.CreateAdd(lane, b_.CreateXor(swapped, I32(half)), "within");
      Value* address = Shared(panel, b_.CreateAdd(within, I32(steps)));
      fragments.push_back(RoundToTf32(b_.CreateAlignedLoad(b_.getInt32Ty(), address, llvm::Align(4), "rhs.word")));
    }
  }
  return fragments;
}

Value* MmaGemm::RoundToTf32(Value* word) {
  return EmitOp(b_, Op::kRoundTf32, {b_.CreateBitCast(word, b_.getFloatTy())});
}

void MmaGemm::EmitMultiply(Value* stage) {
  const DType operand = matmul_.types().operand;
  const Op multiply = operand == DType::kF32    ? Op::kMmaM16N8K8Tf32
                      : operand == DType::kBF16 ? Op::kMmaM16N8K16Bf16
                                                : Op::kMmaM16N8K16F16;
  for (int depth = 0; depth < tile_.depth; depth += depth_) {
    const std::vector<Value*> lhs = EmitLhsFragments(stage, depth);
    for (int panel = 0; panel < tile_.part_columns / kPanelColumns; ++panel) {
      const std::vector<Value*> rhs = EmitRhsFragments(stage, panel, depth);
      for (int row = 0; row < tile_.part_rows / kRows; ++row) {
        std::vector<Value*> operands = rhs;
        operands.insert(operands.end(), {lhs[2 * row], lhs[2 * row + 1]});
        for (int i = 0; i < 4; ++i) operands.push_back(b_.CreateLoad(b_.getFloatTy(), Sum(row, panel, i), "sum"));
        Value* sums = EmitOp(b_, multiply, operands);
        for (unsigned i = 0; i < 4; ++i) {
          b_.CreateStore(b_.CreateExtractValue(sums, i, "sum.next"), Sum(row, panel, i));
        }
      }
    }
  }
}

// ---- The loop -------------------------------------------------------------------------------------

// While one step is multiplied, the copies of the next stages - 1 steps are in flight, one group each.
void MmaGemm::EmitSteps() {
  const int ahead = tile_.stages - 1;
  const auto bring = [&](Value* k) {
    Value* stage = StageOf(k);
    EmitCopyRhs(k, stage);
    EmitCopyLhs(k, stage);
    EmitOp(b_, Op::kCpAsyncCommit, {});
  };
  for (int step = 0; step < ahead; ++step) bring(b_.CreateAdd(matmul_.k_begin(), b_.getInt64(step * tile_.depth)));
  EmitLoop(b_, matmul_.k_begin(), matmul_.k_end(), tile_.depth, "k", [&](Value* k) {
    EmitOp(b_, Op::kCpAsyncWait, {I32(ahead - 1)});
    device::EmitBarrier(b_);  // and all threads have finished the previous stage
    bring(b_.CreateAdd(k, b_.getInt64(ahead * tile_.depth), "k.ahead"));
    EmitMultiply(StageOf(k));
  });
  EmitOp(b_, Op::kCpAsyncWait, {I32(0)});
}

// The same for an lhs that cp.async cannot copy. If a step of it is one turn, its loads are in flight while another
// step is multiplied.
void MmaGemm::EmitGatheredSteps() {
  const int ahead = tile_.stages - 1;
  LhsGather gather(matmul_, lhs_, matmul_.version().threads, matmul_.thread());
  const auto exists = [&](Value* k) { return b_.CreateICmpSLT(k, matmul_.k_end(), "step.exists"); };
  const auto place_in = [&](Value* stage) -> LhsGather::Place {
    return [this, stage](Value* row, Value* chunk) {
      Value* place = b_.CreateXor(chunk, LhsPermutation(row), "place");
      place = b_.CreateAdd(b_.CreateMul(row, I32(RowBytes())), b_.CreateMul(place, I32(kChunkBytes)));
      return Shared(stage, place);
    };
  };
  const auto copy_rhs = [&](Value* k) {
    EmitCopyRhs(k, StageOf(k));
    EmitOp(b_, Op::kCpAsyncCommit, {});
  };
  Value* first_end = b_.CreateAdd(matmul_.k_begin(), b_.getInt64(ahead * tile_.depth), "k.first.end");
  llvm::BasicBlock* latch = nullptr;
  EmitLoop(b_, matmul_.k_begin(), first_end, tile_.depth, "k.first", [&](Value* k) {
    copy_rhs(k);
    EmitIf(b_, exists(k), "step", [&] { gather.Emit(k, place_in(StageOf(k))); });
    latch = b_.GetInsertBlock();
  });
  SetUnroll(latch, 1);
  EmitLoop(b_, matmul_.k_begin(), matmul_.k_end(), tile_.depth, "k", [&](Value* k) {
    EmitOp(b_, Op::kCpAsyncWait, {I32(ahead - 1)});
    device::EmitBarrier(b_);  // and all threads have finished the previous stage
    Value* next = b_.CreateAdd(k, b_.getInt64(ahead * tile_.depth), "k.ahead");
    copy_rhs(next);
    const LhsGather::Place place = place_in(StageOf(next));
    Value* next_exists = exists(next);
    if (!gather.HasOneTurn()) {
      EmitMultiply(StageOf(k));
      return EmitIf(b_, next_exists, "step", [&] { gather.Emit(next, place); });
    }
    Value* is_whole = b_.CreateAnd(next_exists, gather.EmitIsWhole(next), "is.whole");
    EmitIf(b_, is_whole, "load", [&] { gather.EmitLoad(next); });
    EmitMultiply(StageOf(k));
    EmitIf(b_, is_whole, "store", [&] { gather.EmitStore(place); });
    EmitIf(b_, b_.CreateAnd(next_exists, b_.CreateNot(is_whole)), "any", [&] { gather.EmitAny(next, place); });
  });
  EmitOp(b_, Op::kCpAsyncWait, {I32(0)});
}

void MmaGemm::Emit() {
  EmitIf(b_, b_.CreateICmpSLT(matmul_.k_begin(), matmul_.k_end(), "any.depth"), "multiply", [&] {
    if (!lhs_.AreRuns()) return EmitGatheredSteps();
    EmitIf(b_, lhs_.IsAligned(), "aligned", [&] { EmitSteps(); });
    EmitIf(b_, b_.CreateNot(lhs_.IsAligned()), "unaligned", [&] { EmitGatheredSteps(); });
  });
}

// Of each 8 rows the lane has two neighbouring ones; of each panel one column of each half.
void MmaGemm::EmitStage(Value* first) {
  Value* in_pass = b_.CreateICmpULT(b_.CreateSub(warp_row_, first), I32(tile_.pass_rows), "in.pass");
  EmitIf(b_, in_pass, "stage", [&] {
    Value* lane_row = b_.CreateAdd(b_.CreateSub(warp_row_, first), b_.CreateMul(member_, I32(2)), "lane.row");
    Value* lane_column = b_.CreateAdd(warp_column_, group_, "lane.column");
    for (int row = 0; row < tile_.part_rows / kRows; ++row) {
      for (int panel = 0; panel < tile_.part_columns / kPanelColumns; ++panel) {
        for (int i = 0; i < 4; ++i) {
          Value* at = b_.CreateAdd(lane_row, I32(row * kRows + i % 2));
          Value* column = b_.CreateAdd(lane_column, I32(panel * kPanelColumns + i / 2 * 8));
          Value* sum = b_.CreateLoad(b_.getFloatTy(), Sum(row, panel, i), "sum");
          b_.CreateAlignedStore(sum, StagedSum(matmul_, at, column), llvm::Align(4));
        }
      }
    }
  });
}

}  // namespace tailor::cuda
