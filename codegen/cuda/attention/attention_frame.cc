#include "codegen/cuda/attention/attention_frame.h"

#include "codegen/cuda/device_ir/device_intrinsics.h"
#include "codegen/cuda/frame/frame.h"

namespace tailor::cuda {

using llvm::Value;

// Blocks of one batch index are consecutive: those that run concurrently share its keys in L2.
AttentionFrame::AttentionFrame(llvm::IRBuilderBase& builder, llvm::Module& module, KernelPlan& own_plan,
                               const CudaVersion& version, const std::string& name)
    : b(builder),
      plan(own_plan),
      attention(AttentionOf(own_plan)),
      tile(version.attention),
      masked(tile.skips ? FindMaskedKeys(own_plan, attention) : std::nullopt),
      kernel(OpenCudaKernel(builder, module, own_plan, version, name)),
      scalars(builder, target, own_plan, kernel),
      shared(device::EmitSharedMemory(builder)),
      thread(device::EmitThreadId(builder)),
      rows(kernel.DimSizeValue(builder, own_plan.axes[attention.m].dim_size)),
      keys(kernel.DimSizeValue(builder, own_plan.axes[attention.n].dim_size)),
      depth(own_plan.axes[attention.d].dim_size.constant),
      columns(own_plan.axes[attention.v].dim_size.constant) {
  Value* block = Wide(device::EmitBlockId(b));
  Value* tiles = b.CreateUDiv(b.CreateAdd(rows, b.getInt64(tile.rows - 1)), b.getInt64(tile.rows), "row.tiles");
  first_row = b.CreateMul(b.CreateURem(block, tiles), b.getInt64(tile.rows), "first.row");
  Value* batch = b.CreateUDiv(block, tiles, "batch");
  for (size_t i = attention.batch.size(); i-- > 0;) {
    Value* dim_size = kernel.DimSizeValue(b, plan.axes[attention.batch[i]].dim_size);
    scalars.SetAxis(attention.batch[i], i == 0 ? batch : b.CreateURem(batch, dim_size, "batch.index"));
    if (i > 0) batch = b.CreateUDiv(batch, dim_size, "batch.rest");
  }
}

Value* AttentionFrame::Shared(Value* offset) {
  return b.CreateInBoundsGEP(b.getInt8Ty(), shared, offset, "shared.address");
}

Value* AttentionFrame::F32(float value) { return llvm::ConstantFP::get(b.getFloatTy(), value); }

}  // namespace tailor::cuda
