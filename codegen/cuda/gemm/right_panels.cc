#include "codegen/cuda/gemm/right_panels.h"

#include "codegen/contract/panels.h"

namespace tailor::cuda {

using llvm::Value;

RightPanels::RightPanels(ProductFrame& product) : product_(product) {
  llvm::IRBuilderBase& b = product.b();
  const Expr& load = product.contraction().rhs;
  const Buffer& buffer = product.plan().buffers[load.ref];
  bytes_ = b.CreateMul(product.depth(), b.getInt64(SizeOf(buffer.dtype) * kPanelColumns), "panel.bytes");
  Value* panels = b.CreateLShr(b.CreateAdd(product.columns(), b.getInt64(kPanelColumns - 1)), 4, "panels");
  last_ = b.CreateSub(panels, b.getInt64(1), "panel.last");
  Value* batch = b.getInt64(0);
  for (size_t d = 0; d + 2 < load.args.size(); ++d) {
    batch = b.CreateMul(batch, product.frame().ExtentValue(b, buffer.dims[d]));
    batch = b.CreateAdd(batch, product.scalars().Emit(load.args[d]), "right.batch");
  }
  Value* offset = b.CreateMul(b.CreateMul(batch, panels), bytes_, "right.offset");
  base_ = b.CreateGEP(b.getInt8Ty(), product.frame().buffers[load.ref], offset, "right");
}

Value* RightPanels::Panel(Value* index) {
  llvm::IRBuilderBase& b = product_.b();
  Value* existing = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, index, last_, nullptr, "panel");
  return b.CreateGEP(b.getInt8Ty(), base_, b.CreateMul(existing, bytes_), "panel.address");
}

}  // namespace tailor::cuda
