#include "codegen/cuda/gemm/product_portions.h"

#include <algorithm>
#include <vector>

#include "codegen/cuda/device_ir/device_intrinsics.h"
#include "codegen/cuda/device_ir/unroll.h"
#include "codegen/cuda/gemm/product_epilogue.h"
#include "codegen/ir/emit_loop.h"

namespace tailor::cuda {
namespace {

using llvm::Value;

// Of a tile's elements, which EmitAdd hands out as EmitPasses does: `lanes` along the slow axis at once, of which a
// thread adds `added`.
struct Adding {
  int slow, lanes, added;
};

Adding AddingOf(const ProductFrame& product) {
  constexpr int kMost = 4;
  const int slow = product.tile().rows * product.tile().columns / FastExtent(product);
  const int lanes = product.team().threads / FastExtent(product);
  return {slow, lanes, std::clamp(slow / lanes, 1, kMost)};
}

// Parts whose elements a thread has under way together, where it adds one element or several.
constexpr int kPartsOfOne = 8, kPartsOfSeveral = 2;

}  // namespace

ProductPortions::ProductPortions(ProductFrame& product)
    : product_(product),
      b_(product.b()),
      tile_(product.tile()),
      together_(product.version().cooperative),
      block_(device::EmitBlockId(b_)),
      blocks_(device::EmitGridDim(b_)) {
  if (together_) EmitShares();
}

Value* ProductPortions::Wide(Value* value) { return b_.CreateZExt(value, b_.getInt64Ty()); }
Value* ProductPortions::Narrow(Value* value, const char* name) { return b_.CreateTrunc(value, b_.getInt32Ty(), name); }

// There are fewer than 2^31 tiles, and steps of K, and fewer than 2^16 blocks that meet.
void ProductPortions::EmitShares() {
  const auto bound = [&](llvm::Intrinsic::ID id, Value* x, Value* y, const char* name) {
    return b_.CreateBinaryIntrinsic(id, x, y, nullptr, name);
  };
  Value* depth = b_.getInt64(tile_.depth);
  Value* steps = b_.CreateUDiv(b_.CreateAdd(product_.depth(), b_.CreateSub(depth, b_.getInt64(1))), depth);
  // A tile of no K has sums too.
  steps_ = Narrow(bound(llvm::Intrinsic::smax, steps, b_.getInt64(1), "steps"), "steps");
  Value* tiles = Narrow(product_.EmitTileCount(), "tiles");
  turns_ = b_.CreateUDiv(tiles, blocks_, "turns");
  whole_ = b_.CreateMul(turns_, blocks_, "whole");
  rest_ = b_.CreateSub(tiles, whole_, "rest");
  Value* all = b_.CreateMul(Wide(rest_), Wide(steps_), "rest.steps");
  Value* even = b_.CreateUDiv(b_.CreateAdd(all, Wide(b_.CreateSub(blocks_, b_.getInt32(1)))), Wide(blocks_), "even");
  Value* share = bound(llvm::Intrinsic::smax, even, product_.frame().Get(KernelParameter::kParts), "share");
  share_ = Narrow(share, "share");
  struct Place {
    Value *tile, *step;  // which of the rest, which of its steps
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
  portions_ = b_.CreateAdd(turns_, parts, "portions");
  first_of_rest_ = b_.CreateSub(first.tile, turns_, "first.of.rest");
  first_step_ = first.step;
  end_step_ = b_.CreateSelect(ends_within, end.step, steps_, "end.step");
}

void ProductPortions::EmitEach(llvm::function_ref<void()> portion) {
  if (together_) return EmitTurns(portion);
  if (!product_.version().persistent) {
    product_.EmitTile(Wide(block_));
    return portion();
  }
  EmitLoop(b_, Wide(block_), product_.EmitTileCount(), Wide(blocks_), "tile", [&](Value* tile) {
    product_.EmitTile(tile);
    portion();
  });
}

void ProductPortions::EmitTurns(llvm::function_ref<void()> portion) {
  EmitLoop(b_, b_.getInt64(0), Wide(portions_), 1, "portion", [&](Value* number) {
    EmitPortion(Narrow(number, "portion"));
    portion();
  });
}

// Turns come first. Of parts the first may begin, and the last end, within a tile.
void ProductPortions::EmitPortion(Value* number) {
  Value* own = b_.CreateAdd(b_.CreateMul(number, blocks_), block_, "own");
  of_rest_ = b_.CreateAdd(first_of_rest_, number, "of.rest");
  Value* is_turn = b_.CreateICmpULT(number, turns_, "is.turn");
  product_.EmitTile(Wide(b_.CreateSelect(is_turn, own, b_.CreateAdd(whole_, of_rest_), "tile")));
  Value* is_last = b_.CreateICmpEQ(b_.CreateAdd(number, b_.getInt32(1)), portions_, "is.last");
  Value* first = b_.CreateSelect(b_.CreateICmpEQ(number, turns_), first_step_, b_.getInt32(0), "first.step");
  Value* end = b_.CreateSelect(is_last, end_step_, steps_, "end.step");
  is_tile_ = b_.CreateICmpEQ(b_.CreateSub(end, first), steps_, "is.tile");
  const auto of_k = [&](Value* step, const char* name) {
    Value* k = b_.CreateMul(Wide(step), b_.getInt64(tile_.depth));
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, k, product_.depth(), nullptr, name);
  };
  product_.SetRange(of_k(first, "k.begin"), of_k(end, "k.end"));
}

// Blocks have consecutive shares, so each next part is another block's, of the same tile or the next, or the same
// block's of the next: the sum of both numbers is different for all, and less than the blocks and the tiles together.
Value* ProductPortions::Partial(Value* block, Value* tile) {
  Value* offset = b_.CreateMul(Wide(b_.CreateAdd(block, tile)), b_.getInt64(PartialBytes(tile_, product_.types())));
  return b_.CreateInBoundsGEP(b_.getInt8Ty(), product_.frame().scratch, offset, "partial");
}

Value* ProductPortions::SumAt(Value* partial, Value* fast, Value* slow) {
  Value* index = b_.CreateAdd(b_.CreateMul(slow, b_.getInt64(FastExtent(product_))), fast);
  return b_.CreateInBoundsGEP(product_.sum_type(), partial, index, "partial.sum");
}

void ProductPortions::EmitSums(llvm::function_ref<void(Value* first)> stage) {
  const auto finish = [&] {
    EmitPasses(product_, stage,
               [&](Value* row, Value* column, Value* sum) { EmitProductElement(product_, row, column, sum); });
  };
  if (!together_) return finish();
  EmitIf(b_, is_tile_, "tile", finish);
  EmitIf(b_, b_.CreateNot(is_tile_), "part", [&] {
    Value* partial = Partial(block_, of_rest_);
    const bool along_rows = product_.types().stores_along_rows;
    EmitPasses(product_, stage, [&](Value* row, Value* column, Value* sum) {
      Value* place = SumAt(partial, along_rows ? row : column, along_rows ? column : row);
      b_.CreateAlignedStore(sum, place, llvm::Align(SizeOf(product_.types().accumulate)));
    });
  });
}

void ProductPortions::EmitMeeting() {
  if (together_) device::EmitGridBarrier(b_, product_.frame().Get(KernelParameter::kGridBarrier));
}

// The elements of a shared tile are groups that any block takes.
void ProductPortions::EmitRest() {
  if (!together_) return;
  const Adding adding = AddingOf(product_);
  const int groups = std::max(adding.slow / (adding.lanes * adding.added), 1);
  Value* count = Wide(b_.CreateMul(rest_, b_.getInt32(groups), "groups"));
  EmitLoop(b_, Wide(block_), count, Wide(blocks_), "group", [&](Value* number) {
    Value* group = Narrow(number, "group");
    of_rest_ = b_.CreateUDiv(group, b_.getInt32(groups), "of.rest");
    Value* begin = b_.CreateMul(Wide(of_rest_), Wide(steps_));
    Value* last_step = b_.CreateSub(b_.CreateAdd(begin, Wide(steps_)), b_.getInt64(1));
    Value* first = Narrow(b_.CreateUDiv(begin, Wide(share_)), "first.block");
    Value* last = Narrow(b_.CreateUDiv(last_step, Wide(share_)), "last.block");
    EmitIf(b_, b_.CreateICmpULT(first, last, "is.shared"), "add", [&] {
      product_.EmitTile(Wide(b_.CreateAdd(whole_, of_rest_, "tile")));
      EmitAdd(Wide(b_.CreateURem(group, b_.getInt32(groups), "group")), first, last);
    });
  });
}

// Of a group: a thread has some elements, unless a tile has fewer than there are threads.
void ProductPortions::EmitAdd(Value* group, Value* first, Value* last) {
  const ProductTypes& types = product_.types();
  const int fast_extent = FastExtent(product_);
  const Adding adding = AddingOf(product_);
  Value* thread = Wide(product_.team().thread);
  Value* fast = b_.CreateURem(thread, b_.getInt64(fast_extent), "fast");
  Value* slow = b_.CreateAdd(b_.CreateMul(group, b_.getInt64(adding.lanes * adding.added)),
                             b_.CreateUDiv(thread, b_.getInt64(fast_extent)), "slow");
  const auto slow_at = [&](int i) { return b_.CreateAdd(slow, b_.getInt64(i * adding.lanes), "slow.at"); };
  const auto load = [&](Value* block, int i) {
    Value* place = SumAt(Partial(block, of_rest_), fast, slow_at(i));
    return b_.CreateAlignedLoad(product_.sum_type(), place, llvm::Align(SizeOf(types.accumulate)), "part");
  };
  Value* rows_left = b_.CreateSub(product_.rows(), product_.first_row(), "rows.left");
  Value* columns_left = b_.CreateSub(product_.columns(), product_.first_column(), "columns.left");
  Value *fast_left = columns_left, *slow_left = rows_left;
  if (types.stores_along_rows) std::swap(fast_left, slow_left);

  Value* exists = b_.CreateICmpSLT(fast, fast_left, "exists");
  Value* in_tile = b_.CreateICmpSLT(slow, b_.getInt64(adding.slow));
  if (adding.slow < adding.lanes) exists = b_.CreateAnd(exists, in_tile, "exists");
  EmitIf(b_, exists, "sums", [&] {
    std::vector<llvm::AllocaInst*> sums;
    for (int i = 0; i < adding.added; ++i) {
      sums.push_back(product_.Variable(product_.sum_type(), "sum"));
      b_.CreateStore(load(first, i), sums[i]);
    }
    llvm::BasicBlock* latch = nullptr;
    Value *next = Wide(b_.CreateAdd(first, b_.getInt32(1))), *end = Wide(b_.CreateAdd(last, b_.getInt32(1)));
    EmitLoop(b_, next, end, 1, "other", [&](Value* number) {
      Value* block = Narrow(number, "other");
      for (int i = 0; i < adding.added; ++i) {
        Value *sum = b_.CreateLoad(product_.sum_type(), sums[i], "sum"), *part = load(block, i);
        sum = IsFloat(types.accumulate) ? b_.CreateFAdd(sum, part) : b_.CreateAdd(sum, part);
        b_.CreateStore(sum, sums[i]);
      }
      latch = b_.GetInsertBlock();
    });
    SetUnroll(latch, adding.added == 1 ? kPartsOfOne : kPartsOfSeveral);
    for (int i = 0; i < adding.added; ++i) {
      EmitIf(b_, b_.CreateICmpSLT(slow_at(i), slow_left, "exists"), "element", [&] {
        Value* sum = b_.CreateLoad(product_.sum_type(), sums[i], "sum");
        Value *row = slow_at(i), *column = fast;
        if (types.stores_along_rows) std::swap(row, column);
        EmitProductElement(product_, row, column, sum);
      });
    }
  });
}

}  // namespace tailor::cuda
