#include "codegen/cpu/gemm/pack_rows.h"

#include "codegen/cpu/gemm/lhs_operand.h"
#include "codegen/ir/emit_loop.h"
#include "codegen/scalar/scalar_ops.h"

namespace tailor::gemm {

using llvm::Value;

bool MayPackRows(const KernelPlan& plan, const Contraction& c, const LhsForm& form) {
  KernelPlan accesses = plan;  // queries of accesses add expressions
  if (!StoresAlongRows(accesses, c) || c.in_place || c.fill >= 0) return false;
  if (!IsFloat(c.accumulate) || plan.buffers[c.lhs.ref].dtype != c.accumulate) return false;
  const auto most = [&](int axis) { return RangeOfDimSize(plan, plan.axes[axis].dim_size).max; };
  if (most(c.k) < kLeastPackedDepth) return false;
  // Gathering an element for each window that it is in takes longer than reading it through tables.
  if (form.tables) return form.depth.IsAffine() && most(c.n) >= kLeastGatheredColumns;
  return form.rows.IsUnitInLastDim() && most(c.n) >= kLeastPackedColumns;
}

namespace {

class RowPacker {
 public:
  RowPacker(llvm::IRBuilderBase& b, const RowsToPack& from, const EvenTiling& tiling, Value* to)
      : b_(b),
        from_(from),
        tiling_(tiling),
        to_(to),
        element_(MemoryType(b.getContext(), from.dtype, 1)),
        vector_(MemoryType(b.getContext(), from.dtype, from.lanes)),
        align_(SizeOf(from.dtype)) {}

  void Emit(Value* first_tile, Value* last_tile) {
    constexpr int kSteps = 4;  // side by side: a tile's bounds, mask and offsets serve them all
    Value* first = tiling_.Start(b_, first_tile);
    const auto steps = [&](Value* k, int count) {
      EmitLoop(b_, first_tile, last_tile, 1, "packed.tile", [&](Value* tile) {
        EmitTile(b_.CreateSub(tiling_.Start(b_, tile), first, "start"), tiling_.Size(b_, tile), k, count);
      });
    };
    Value* whole = b_.CreateAnd(from_.depth, b_.getInt64(-kSteps), "whole.steps");
    EmitLoop(b_, b_.getInt64(0), whole, kSteps, "pack", [&](Value* k) { steps(k, kSteps); });
    EmitLoop(b_, whole, from_.depth, 1, "pack.rest", [&](Value* k) { steps(k, 1); });
  }

 private:
  // `count` steps from `k` on of a tile of `size` rows, the first of which is the task's row `start`.
  void EmitTile(Value* start, Value* size, Value* k, int count) {
    Value* begin = b_.CreateMul(start, b_.CreateAdd(from_.depth, b_.getInt64(from_.lanes)), "begin");
    Value* left = b_.CreateSub(from_.rows, start, "left");
    Value* mask = EmitFirstLanes(
        b_, from_.lanes, b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, left, b_.getInt64(from_.lanes), nullptr));
    Value* offsets = from_.row_offsets == nullptr ? nullptr : Entries(from_.row_offsets, start, from_.lanes);
    for (int i = 0; i < count; ++i) {
      Value* step = b_.CreateAdd(k, b_.getInt64(i), "step");
      Value* rows = offsets == nullptr ? Load(start, step, mask) : Gather(offsets, step, mask);
      // What lies past the tile's last row is overwritten by the next step.
      Value* place = b_.CreateAdd(begin, b_.CreateMul(step, size), "place");
      b_.CreateAlignedStore(rows, b_.CreateInBoundsGEP(element_, to_, place, "packed"), align_);
    }
  }

  Value* Load(Value* row, Value* step, Value* mask) {
    Value* offset = b_.CreateAdd(b_.CreateMul(step, from_.depth_stride), row, "offset");
    Value* address = b_.CreateGEP(element_, from_.address, offset, "rows");
    return b_.CreateMaskedLoad(vector_, address, align_, mask, Zeros(), "rows");
  }

  Value* Gather(Value* offsets, Value* step, Value* mask) {
    Value* base = b_.CreateGEP(element_, from_.address, Entries(from_.depth_offsets, step, 1), "step");
    return b_.CreateMaskedGather(vector_, b_.CreateGEP(element_, base, offsets, "rows"), align_, mask, Zeros(), "rows");
  }

  Value* Entries(Value* table, Value* index, int count) {
    llvm::Type* type = b_.getInt64Ty();
    Value* address = b_.CreateInBoundsGEP(type, table, index, "entry");
    if (count > 1) type = llvm::FixedVectorType::get(type, count);
    return b_.CreateAlignedLoad(type, address, llvm::Align(8), "offsets");
  }

  Value* Zeros() { return llvm::Constant::getNullValue(vector_); }

  llvm::IRBuilderBase& b_;
  const RowsToPack& from_;
  const EvenTiling& tiling_;
  Value* to_;
  llvm::Type *element_, *vector_;
  llvm::Align align_;
};

}  // namespace

void EmitPackRows(llvm::IRBuilderBase& b, const RowsToPack& from, const EvenTiling& tiling, Value* first_tile,
                  Value* last_tile, Value* to) {
  RowPacker(b, from, tiling, to).Emit(first_tile, last_tile);
}

}  // namespace tailor::gemm
