#include "codegen/cuda/gemm/warpgroup_producer.h"

#include "codegen/contract/panels.h"
#include "codegen/cuda/device_ir/device_intrinsics.h"
#include "codegen/cuda/device_ir/device_ops.h"
#include "codegen/cuda/gemm/lhs_gather.h"
#include "codegen/cuda/schedule/operand_maps.h"
#include "codegen/ir/emit_loop.h"

namespace tailor::cuda {

using device::EmitOp;
using device::Op;
using llvm::Value;

WarpgroupProducer::WarpgroupProducer(MatmulFrame& matmul, StreamK& stream_k, WarpgroupStages& stages)
    : matmul_(matmul),
      b_(matmul.b()),
      stream_k_(stream_k),
      stages_(stages),
      row_dim_(RowDimOf(matmul.plan(), matmul.contraction())),
      rhs_box_steps_(RhsBoxSteps(matmul.plan(), matmul.contraction(), matmul.tile())),
      threads_(matmul.tile().copying_warps * 32),
      thread_(b_.CreateSub(matmul.thread(), I32(matmul.version().threads - threads_), "copier")),
      lhs_by_tma_(b_.getFalse()),
      step_(matmul.Variable(b_.getInt32Ty(), "produced")) {
  b_.CreateStore(I32(0), step_);
  if (row_dim_) {
    constexpr uint64_t kUnit = 16;
    Value* lhs = matmul.frame().buffers[matmul.contraction().lhs.ref];
    Value* row_bytes = b_.CreateShl(matmul.depth(), 1, "row.bytes");
    Value* bits = b_.CreateOr(b_.CreatePtrToInt(lhs, b_.getInt64Ty()), row_bytes, "lhs.bits");
    lhs_by_tma_ = b_.CreateICmpEQ(b_.CreateAnd(bits, kUnit - 1), b_.getInt64(0), "lhs.is_box");
  }
  full_arrivals_ = b_.CreateSelect(lhs_by_tma_, I32(1), I32(threads_), "fillers");
}

// Row-major index of the first `dims` dims of `load`, with the current axes.
Value* WarpgroupProducer::EmitIndex(const Expr& load, size_t dims) {
  const Buffer& buffer = matmul_.plan().buffers[load.ref];
  Value* index = b_.getInt64(0);
  for (size_t d = 0; d < dims; ++d) {
    index = b_.CreateMul(index, matmul_.frame().DimSizeValue(b_, buffer.dims[d]));
    index = b_.CreateAdd(index, matmul_.scalars().Emit(load.args[d]), "tensor.index");
  }
  return index;
}

// Coordinates where the tile's boxes begin.
void WarpgroupProducer::EmitCoordinates(bool boxes) {
  const Contraction& c = matmul_.contraction();
  const auto narrow = [&](Value* value) { return b_.CreateTrunc(value, b_.getInt32Ty()); };
  matmul_.scalars().SetAxis(c.m, matmul_.first_row());
  Value* panels = b_.CreateLShr(b_.CreateAdd(matmul_.columns(), b_.getInt64(kPanelColumns - 1)), 4, "panels");
  Value* first = b_.CreateMul(EmitIndex(c.rhs, c.rhs.args.size() - 2), panels, "batch.panels");
  rhs_panel_ = narrow(b_.CreateAdd(first, b_.CreateLShr(matmul_.first_column(), 4), "rhs.panel"));
  if (!boxes) return;
  const std::vector<DimSize>& dims = matmul_.plan().buffers[c.lhs.ref].dims;
  Value *row = narrow(EmitIndex(c.lhs, dims.size() - 1)), *inner = I32(1);
  for (size_t d = *row_dim_ + 1; d + 1 < dims.size(); ++d) {
    inner = b_.CreateMul(inner, narrow(matmul_.frame().DimSizeValue(b_, dims[d])), "inner");
  }
  lhs_inner_ = b_.CreateURem(row, inner, "lhs.inner");
  lhs_outer_ = b_.CreateUDiv(row, inner, "lhs.outer");
}

void WarpgroupProducer::EmitLoadRhs(Value* k, Value* stage) {
  Value* step = b_.CreateTrunc(b_.CreateUDiv(k, b_.getInt64(rhs_box_steps_)), b_.getInt32Ty(), "k.box");
  EmitOp(b_, Op::kTensorLoad3d,
         {stages_.Rhs(stage), matmul_.frame().tensor_maps[kRhsMap], stages_.Full(stage), I32(0), step, rhs_panel_});
}

void WarpgroupProducer::EmitLoadLhs(Value* k, Value* stage) {
  Value* step = b_.CreateTrunc(k, b_.getInt32Ty(), "k.box");
  EmitOp(b_, Op::kTensorLoad3d,
         {stages_.Lhs(stage), matmul_.frame().tensor_maps[kLhsMap], stages_.Full(stage), step, lhs_inner_, lhs_outer_});
}

// Through registers. XOR swizzle: chunk c of row r is at c ^ (r % 8).
void WarpgroupProducer::EmitGatherLhs(Value* k, Value* stage) {
  const int chunks = matmul_.tile().depth / kChunkElements;
  LhsChunks lhs(matmul_);
  LhsGather gather(matmul_, lhs, threads_, thread_);
  Value* base = stages_.Lhs(stage);
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
    EmitLoadRhs(k, stage);
    EmitLoadLhs(k, stage);
    return;
  }
  EmitGatherLhs(k, stage);
  Value* is_first = b_.CreateICmpEQ(thread_, I32(0), "is.first");
  EmitIf(b_, is_first, "load.rhs", [&] {
    EmitOp(b_, Op::kMbarrierArriveExpect, {stages_.Full(stage), I32(stages_.RhsBytes())});
    EmitLoadRhs(k, stage);
  });
  EmitIf(b_, b_.CreateNot(is_first), "arrive", [&] { EmitOp(b_, Op::kMbarrierArrive, {stages_.Full(stage)}); });
}

void WarpgroupProducer::EmitSegments(bool boxes) {
  stream_k_.EmitEach([&] {
    EmitCoordinates(boxes);
    EmitLoop(b_, matmul_.k_begin(), matmul_.k_end(), matmul_.tile().depth, "k", [&](Value* k) {
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
    EmitIf(b_, b_.CreateAnd(lhs_by_tma_, is_first), "boxes", [&] { EmitSegments(/*boxes=*/true); });
  }
  EmitIf(b_, b_.CreateNot(lhs_by_tma_), "elements", [&] { EmitSegments(/*boxes=*/false); });
}

}  // namespace tailor::cuda
