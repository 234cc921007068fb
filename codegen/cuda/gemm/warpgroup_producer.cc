#include "codegen/cuda/gemm/warpgroup_producer.h"

#include "codegen/contract/panels.h"
#include "codegen/cuda/device_ir/device_intrinsics.h"
#include "codegen/cuda/device_ir/device_ops.h"
#include "codegen/cuda/gemm/left_gather.h"
#include "codegen/cuda/schedule/operand_maps.h"
#include "codegen/ir/emit_loop.h"

namespace tailor::cuda {

using device::EmitOp;
using device::Op;
using llvm::Value;

WarpgroupProducer::WarpgroupProducer(ProductFrame& product, ProductPortions& portions, WarpgroupStages& stages)
    : product_(product),
      b_(product.b()),
      portions_(portions),
      stages_(stages),
      row_dim_(RowDimOf(product.plan(), product.contraction())),
      right_box_steps_(RightBoxSteps(product.plan(), product.contraction(), product.tile())),
      threads_(product.tile().copying_warps * 32),
      thread_(b_.CreateSub(product.thread(), I32(product.version().threads - threads_), "copier")),
      is_box_(b_.getFalse()),
      step_(product.Variable(b_.getInt32Ty(), "produced")) {
  b_.CreateStore(I32(0), step_);
  if (row_dim_) {
    constexpr uint64_t kUnit = 16;
    Value* left = product.frame().buffers[product.contraction().lhs.ref];
    Value* row_bytes = b_.CreateShl(product.depth(), 1, "row.bytes");
    Value* bits = b_.CreateOr(b_.CreatePtrToInt(left, b_.getInt64Ty()), row_bytes, "left.bits");
    is_box_ = b_.CreateICmpEQ(b_.CreateAnd(bits, kUnit - 1), b_.getInt64(0), "left.is_box");
  }
  fillers_ = b_.CreateSelect(is_box_, I32(1), I32(threads_), "fillers");
}

// The index of the first `dims` dims of `load`, row-major, with the axes as they are set.
Value* WarpgroupProducer::EmitIndex(const Expr& load, size_t dims) {
  const Buffer& buffer = product_.plan().buffers[load.ref];
  Value* index = b_.getInt64(0);
  for (size_t d = 0; d < dims; ++d) {
    index = b_.CreateMul(index, product_.frame().ExtentValue(b_, buffer.dims[d]));
    index = b_.CreateAdd(index, product_.scalars().Emit(load.args[d]), "tensor.index");
  }
  return index;
}

// Where the tile's boxes begin.
void WarpgroupProducer::EmitCoordinates(bool boxes) {
  const Contraction& c = product_.contraction();
  const auto narrow = [&](Value* value) { return b_.CreateTrunc(value, b_.getInt32Ty()); };
  product_.scalars().SetAxis(c.m, product_.first_row());
  Value* panels = b_.CreateLShr(b_.CreateAdd(product_.columns(), b_.getInt64(kPanelColumns - 1)), 4, "panels");
  Value* first = b_.CreateMul(EmitIndex(c.rhs, c.rhs.args.size() - 2), panels, "batch.panels");
  right_panel_ = narrow(b_.CreateAdd(first, b_.CreateLShr(product_.first_column(), 4), "right.panel"));
  if (!boxes) return;
  const std::vector<Extent>& dims = product_.plan().buffers[c.lhs.ref].dims;
  Value *row = narrow(EmitIndex(c.lhs, dims.size() - 1)), *inner = I32(1);
  for (size_t d = *row_dim_ + 1; d + 1 < dims.size(); ++d) {
    inner = b_.CreateMul(inner, narrow(product_.frame().ExtentValue(b_, dims[d])), "inner");
  }
  left_inner_ = b_.CreateURem(row, inner, "left.inner");
  left_outer_ = b_.CreateUDiv(row, inner, "left.outer");
}

void WarpgroupProducer::EmitLoadRight(Value* k, Value* stage) {
  Value* step = b_.CreateTrunc(b_.CreateUDiv(k, b_.getInt64(right_box_steps_)), b_.getInt32Ty(), "k.box");
  EmitOp(
      b_, Op::kTensorLoad3d,
      {stages_.Right(stage), product_.frame().tensor_maps[kRightMap], stages_.Full(stage), I32(0), step, right_panel_});
}

void WarpgroupProducer::EmitLoadLeft(Value* k, Value* stage) {
  Value* step = b_.CreateTrunc(k, b_.getInt32Ty(), "k.box");
  EmitOp(b_, Op::kTensorLoad3d,
         {stages_.Left(stage), product_.frame().tensor_maps[kLeftMap], stages_.Full(stage), step, left_inner_,
          left_outer_});
}

// Through registers. Chunk c of row r lies where c ^ (r % 8) does.
void WarpgroupProducer::EmitGatherLeft(Value* k, Value* stage) {
  const int chunks = product_.tile().depth / kChunkElements;
  LeftChunks left(product_);
  LeftGather gather(product_, left, threads_, thread_);
  Value* base = stages_.Left(stage);
  gather.Emit(k, [&](Value* row, Value* chunk) {
    Value* place = b_.CreateXor(chunk, b_.CreateURem(row, I32(chunks)), "place");
    place = b_.CreateAdd(b_.CreateMul(row, I32(chunks)), place);
    return b_.CreateInBoundsGEP(b_.getInt8Ty(), base, b_.CreateMul(place, I32(kChunkBytes)), "chunk.place");
  });
  EmitOp(b_, Op::kFenceAsyncProxy, {});
}

void WarpgroupProducer::EmitFill(Value* k, Value* stage, bool boxes) {
  if (boxes) {
    EmitOp(b_, Op::kMbarrierArriveExpect, {stages_.Full(stage), I32(stages_.StageBytes())});
    EmitLoadRight(k, stage);
    EmitLoadLeft(k, stage);
    return;
  }
  EmitGatherLeft(k, stage);
  Value* is_first = b_.CreateICmpEQ(thread_, I32(0), "is.first");
  EmitIf(b_, is_first, "load.right", [&] {
    EmitOp(b_, Op::kMbarrierArriveExpect, {stages_.Full(stage), I32(stages_.RightBytes())});
    EmitLoadRight(k, stage);
  });
  EmitIf(b_, b_.CreateNot(is_first), "arrive", [&] { EmitOp(b_, Op::kMbarrierArrive, {stages_.Full(stage)}); });
}

void WarpgroupProducer::EmitPortions(bool boxes) {
  portions_.EmitEach([&] {
    EmitCoordinates(boxes);
    EmitLoop(b_, product_.k_begin(), product_.k_end(), product_.tile().depth, "k", [&](Value* k) {
      Value* step = b_.CreateLoad(b_.getInt32Ty(), step_, "step");
      const WarpgroupStages::Stage stage = stages_.Of(step);
      EmitOp(b_, Op::kMbarrierWait, {stages_.Empty(stage.number), b_.CreateXor(stage.parity, 1)});
      EmitFill(k, stage.number, boxes);
      b_.CreateStore(b_.CreateAdd(step, I32(1)), step_);
    });
  });
}

void WarpgroupProducer::Emit() {
  if (row_dim_) {
    Value* is_first = b_.CreateICmpEQ(thread_, I32(0), "is.first");
    EmitIf(b_, b_.CreateAnd(is_box_, is_first), "boxes", [&] { EmitPortions(/*boxes=*/true); });
  }
  EmitIf(b_, b_.CreateNot(is_box_), "elements", [&] { EmitPortions(/*boxes=*/false); });
}

}  // namespace tailor::cuda
