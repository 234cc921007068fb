#include "codegen/cuda/gemm/stream_k.h"

#include <algorithm>
#include <vector>

#include "codegen/cuda/device_ir/device_intrinsics.h"
#include "codegen/cuda/device_ir/unroll.h"
#include "codegen/cuda/gemm/matmul_epilogue.h"
#include "codegen/ir/emit_loop.h"

namespace tailor::cuda {
namespace {

using llvm::Value;

// How EmitAdd distributes a tile's elements, like EmitPasses: `lanes` elements along the slow axis at once; a thread
// adds `added` of them.
struct Adding {
  int slow, lanes, added;
};

Adding AddingOf(const MatmulFrame& matmul) {
  constexpr int kMost = 4;
  const int slow = matmul.tile().rows * matmul.tile().columns / FastDimSize(matmul);
  const int lanes = matmul.team().threads / FastDimSize(matmul);
  return {slow, lanes, std::clamp(slow / lanes, 1, kMost)};
}

// Partial sums that a thread has in flight, if it adds one element or several.
constexpr int kPartsOfOne = 8, kPartsOfSeveral = 2;

}  // namespace

StreamK::StreamK(MatmulFrame& matmul)
    : matmul_(matmul),
      b_(matmul.b()),
      tile_(matmul.tile()),
      cooperative_(matmul.version().cooperative),
      block_(device::EmitBlockId(b_)),
      blocks_(device::EmitGridDim(b_)) {
  if (cooperative_) EmitShares();
}

Value* StreamK::Wide(Value* value) { return b_.CreateZExt(value, b_.getInt64Ty()); }
Value* StreamK::Narrow(Value* value, const char* name) { return b_.CreateTrunc(value, b_.getInt32Ty(), name); }

// There are fewer than 2^31 tiles, fewer than 2^31 steps of K, and fewer than 2^16 cooperative blocks.
void StreamK::EmitShares() {
  const auto bound = [&](llvm::Intrinsic::ID id, Value* x, Value* y, const char* name) {
    return b_.CreateBinaryIntrinsic(id, x, y, nullptr, name);
  };
  Value* depth = b_.getInt64(tile_.depth);
  Value* steps = b_.CreateUDiv(b_.CreateAdd(matmul_.depth(), b_.CreateSub(depth, b_.getInt64(1))), depth);
  // A tile with K = 0 has sums too.
  steps_ = Narrow(bound(llvm::Intrinsic::smax, steps, b_.getInt64(1), "steps"), "steps");
  Value* tiles = Narrow(matmul_.EmitTileCount(), "tiles");
  turns_ = b_.CreateUDiv(tiles, blocks_, "turns");
  whole_ = b_.CreateMul(turns_, blocks_, "whole");
  partial_tiles_ = b_.CreateSub(tiles, whole_, "partial.tiles");
  Value* all = b_.CreateMul(Wide(partial_tiles_), Wide(steps_), "rest.steps");
  Value* even = b_.CreateUDiv(b_.CreateAdd(all, Wide(b_.CreateSub(blocks_, b_.getInt32(1)))), Wide(blocks_), "even");
  Value* share = bound(llvm::Intrinsic::smax, even, matmul_.frame().Get(KernelParameter::kParts), "share");
  share_ = Narrow(share, "share");
  struct Place {
    Value *tile, *step;  // index of the remaining tile; step within it
  };
  const auto place = [&](Value* step) -> Place {
    Value* tile = b_.CreateUDiv(step, Wide(steps_));
    Value* within = b_.CreateSub(step, b_.CreateMul(tile, Wide(steps_)));
    return {Narrow(tile, "place.tile"), Narrow(within, "place.step")};
  };
  Value* begin = bound(llvm::Intrinsic::smin, b_.CreateMul(Wide(block_), share), all, "share.begin");
  const Place first = place(begin);
  const Place end = place(bound(llvm::Intrinsic::smin, b_.CreateAdd(begin, share), all, "share.end"));
  Value* ends_within = b_.CreateICmpNE(end.step, b_.getInt32(0), "ends.within");
  Value* parts = b_.CreateSub(end.tile, first.tile);
  parts = b_.CreateAdd(parts, b_.CreateZExt(ends_within, b_.getInt32Ty()), "parts");
  segments_ = b_.CreateAdd(turns_, parts, "segments");
  first_partial_ = b_.CreateSub(first.tile, turns_, "first.partial");
  first_step_ = first.step;
  end_step_ = b_.CreateSelect(ends_within, end.step, steps_, "end.step");
}

void StreamK::EmitEach(llvm::function_ref<void()> segment) {
  if (cooperative_) return EmitTurns(segment);
  if (!matmul_.version().persistent) {
    matmul_.EmitTile(Wide(block_));
    return segment();
  }
  EmitLoop(b_, Wide(block_), matmul_.EmitTileCount(), Wide(blocks_), "tile", [&](Value* tile) {
    matmul_.EmitTile(tile);
    segment();
  });
}

void StreamK::EmitTurns(llvm::function_ref<void()> segment) {
  EmitLoop(b_, b_.getInt64(0), Wide(segments_), 1, "segment", [&](Value* number) {
    EmitSegment(Narrow(number, "segment"));
    segment();
  });
}

// Whole tiles come first. Of the partial segments the first may begin, and the last end, within a tile.
void StreamK::EmitSegment(Value* number) {
  Value* own = b_.CreateAdd(b_.CreateMul(number, blocks_), block_, "own");
  partial_tile_ = b_.CreateAdd(first_partial_, number, "partial.tile");
  Value* is_turn = b_.CreateICmpULT(number, turns_, "is.turn");
  matmul_.EmitTile(Wide(b_.CreateSelect(is_turn, own, b_.CreateAdd(whole_, partial_tile_), "tile")));
  Value* is_last = b_.CreateICmpEQ(b_.CreateAdd(number, b_.getInt32(1)), segments_, "is.last");
  Value* first = b_.CreateSelect(b_.CreateICmpEQ(number, turns_), first_step_, b_.getInt32(0), "first.step");
  Value* end = b_.CreateSelect(is_last, end_step_, steps_, "end.step");
  is_tile_ = b_.CreateICmpEQ(b_.CreateSub(end, first), steps_, "is.tile");
  const auto of_k = [&](Value* step, const char* name) {
    Value* k = b_.CreateMul(Wide(step), b_.getInt64(tile_.depth));
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, k, matmul_.depth(), nullptr, name);
  };
  matmul_.SetRange(of_k(first, "k.begin"), of_k(end, "k.end"));
}

// Blocks have consecutive shares: the next partial segment is another block's, of the same tile or the next, or this
// block's, of the next tile. So block + tile is unique, and less than the number of blocks plus tiles.
Value* StreamK::Partial(Value* block, Value* tile) {
  Value* offset = b_.CreateMul(Wide(b_.CreateAdd(block, tile)), b_.getInt64(PartialBytes(tile_, matmul_.types())));
  return b_.CreateInBoundsGEP(b_.getInt8Ty(), matmul_.frame().scratch, offset, "partial");
}

Value* StreamK::SumAt(Value* partial, Value* fast, Value* slow) {
  Value* index = b_.CreateAdd(b_.CreateMul(slow, b_.getInt64(FastDimSize(matmul_))), fast);
  return b_.CreateInBoundsGEP(matmul_.sum_type(), partial, index, "partial.sum");
}

void StreamK::EmitSums(llvm::function_ref<void(Value* first)> stage) {
  const auto finish = [&] {
    EmitPasses(matmul_, stage,
               [&](Value* row, Value* column, Value* sum) { EmitMatmulElement(matmul_, row, column, sum); });
  };
  if (!cooperative_) return finish();
  EmitIf(b_, is_tile_, "tile", finish);
  EmitIf(b_, b_.CreateNot(is_tile_), "part", [&] {
    Value* partial = Partial(block_, partial_tile_);
    const bool along_rows = matmul_.types().stores_along_rows;
    EmitPasses(matmul_, stage, [&](Value* row, Value* column, Value* sum) {
      Value* place = SumAt(partial, along_rows ? row : column, along_rows ? column : row);
      b_.CreateAlignedStore(sum, place, llvm::Align(SizeOf(matmul_.types().accumulate)));
    });
  });
}

void StreamK::EmitGridSync() {
  if (cooperative_) device::EmitGridBarrier(b_, matmul_.frame().Get(KernelParameter::kGridBarrier));
}

// The elements of a shared tile are split into groups, which any block takes.
void StreamK::EmitFixup() {
  if (!cooperative_) return;
  const Adding adding = AddingOf(matmul_);
  const int groups = std::max(adding.slow / (adding.lanes * adding.added), 1);
  Value* count = Wide(b_.CreateMul(partial_tiles_, b_.getInt32(groups), "groups"));
  EmitLoop(b_, Wide(block_), count, Wide(blocks_), "group", [&](Value* number) {
    Value* group = Narrow(number, "group");
    partial_tile_ = b_.CreateUDiv(group, b_.getInt32(groups), "partial.tile");
    Value* begin = b_.CreateMul(Wide(partial_tile_), Wide(steps_));
    Value* last_step = b_.CreateSub(b_.CreateAdd(begin, Wide(steps_)), b_.getInt64(1));
    Value* first = Narrow(b_.CreateUDiv(begin, Wide(share_)), "first.block");
    Value* last = Narrow(b_.CreateUDiv(last_step, Wide(share_)), "last.block");
    EmitIf(b_, b_.CreateICmpULT(first, last, "is.shared"), "add", [&] {
      matmul_.EmitTile(Wide(b_.CreateAdd(whole_, partial_tile_, "tile")));
      EmitAdd(Wide(b_.CreateURem(group, b_.getInt32(groups), "group")), first, last);
    });
  });
}

// The elements of one group: each thread has some, unless the tile has fewer elements than there are threads.
void StreamK::EmitAdd(Value* group, Value* first, Value* last) {
  const MatmulTypes& types = matmul_.types();
  const int fast_dim_size = FastDimSize(matmul_);
  const Adding adding = AddingOf(matmul_);
  Value* thread = Wide(matmul_.team().thread);
  Value* fast = b_.CreateURem(thread, b_.getInt64(fast_dim_size), "fast");
  Value* slow = b_.CreateAdd(b_.CreateMul(group, b_.getInt64(adding.lanes * adding.added)),
                             b_.CreateUDiv(thread, b_.getInt64(fast_dim_size)), "slow");
  const auto slow_at = [&](int i) { return b_.CreateAdd(slow, b_.getInt64(i * adding.lanes), "slow.at"); };
  const auto load = [&](Value* block, int i) {
    Value* place = SumAt(Partial(block, partial_tile_), fast, slow_at(i));
    return b_.CreateAlignedLoad(matmul_.sum_type(), place, llvm::Align(SizeOf(types.accumulate)), "part");
  };
  Value* rows_left = b_.CreateSub(matmul_.rows(), matmul_.first_row(), "rows.left");
  Value* columns_left = b_.CreateSub(matmul_.columns(), matmul_.first_column(), "columns.left");
  Value *fast_left = columns_left, *slow_left = rows_left;
  if (types.stores_along_rows) std::swap(fast_left, slow_left);

  Value* exists = b_.CreateICmpSLT(fast, fast_left, "exists");
  Value* in_tile = b_.CreateICmpSLT(slow, b_.getInt64(adding.slow));
  if (adding.slow < adding.lanes) exists = b_.CreateAnd(exists, in_tile, "exists");
  EmitIf(b_, exists, "sums", [&] {
    std::vector<llvm::AllocaInst*> sums;
    for (int i = 0; i < adding.added; ++i) {
      sums.push_back(matmul_.Variable(matmul_.sum_type(), "sum"));
      b_.CreateStore(load(first, i), sums[i]);
    }
    llvm::BasicBlock* latch = nullptr;
    Value *next = Wide(b_.CreateAdd(first, b_.getInt32(1))), *end = Wide(b_.CreateAdd(last, b_.getInt32(1)));
    EmitLoop(b_, next, end, 1, "other", [&](Value* number) {
      Value* block = Narrow(number, "other");
      for (int i = 0; i < adding.added; ++i) {
        Value *sum = b_.CreateLoad(matmul_.sum_type(), sums[i], "sum"), *part = load(block, i);
        sum = IsFloat(types.accumulate) ? b_.CreateFAdd(sum, part) : b_.CreateAdd(sum, part);
        b_.CreateStore(sum, sums[i]);
      }
      latch = b_.GetInsertBlock();
    });
    SetUnroll(latch, adding.added == 1 ? kPartsOfOne : kPartsOfSeveral);
    for (int i = 0; i < adding.added; ++i) {
      EmitIf(b_, b_.CreateICmpSLT(slow_at(i), slow_left, "exists"), "element", [&] {
        Value* sum = b_.CreateLoad(matmul_.sum_type(), sums[i], "sum");
        Value *row = slow_at(i), *column = fast;
        if (types.stores_along_rows) std::swap(row, column);
        EmitMatmulElement(matmul_, row, column, sum);
      });
    }
  });
}

}  // namespace tailor::cuda
