#include "codegen/cuda/gemm/warpgroup_stages.h"

#include "codegen/cuda/device_ir/device_intrinsics.h"
#include "codegen/cuda/device_ir/device_ops.h"
#include "codegen/ir/emit_loop.h"

namespace tailor::cuda {

using device::EmitOp;
using device::Op;
using llvm::Value;

WarpgroupStages::WarpgroupStages(MatmulFrame& matmul)
    : matmul_(matmul),
      b_(matmul.b()),
      tile_(matmul.tile()),
      barriers_begin_(static_cast<int>(SharedBytes(tile_, matmul.types())) - 2 * kBarrierBytes * tile_.stages) {}

Value* WarpgroupStages::At(Value* index, int pitch, int first) {
  Value* offset = b_.CreateAdd(b_.CreateMul(index, b_.getInt32(pitch)), b_.getInt32(first));
  return b_.CreateInBoundsGEP(b_.getInt8Ty(), matmul_.shared(), offset, "stage.address");
}

WarpgroupStages::Stage WarpgroupStages::Of(Value* step) {
  Value* turn = b_.CreateUDiv(step, b_.getInt32(tile_.stages), "turn");
  return {b_.CreateURem(step, b_.getInt32(tile_.stages), "stage"), b_.CreateAnd(turn, 1, "parity")};
}

void WarpgroupStages::EmitInit(Value* fillers) {
  constexpr int kWarps = kWarpgroupThreads / 32;
  EmitIf(b_, b_.CreateICmpEQ(matmul_.thread(), b_.getInt32(0)), "init", [&] {
    for (int stage = 0; stage < tile_.stages; ++stage) {
      EmitOp(b_, Op::kMbarrierInit, {Full(b_.getInt32(stage)), fillers});
      EmitOp(b_, Op::kMbarrierInit, {Empty(b_.getInt32(stage)), b_.getInt32(tile_.parts() * kWarps)});
    }
    EmitOp(b_, Op::kFenceMbarrierInit, {});
  });
  device::EmitBarrier(b_);
}

}  // namespace tailor::cuda
