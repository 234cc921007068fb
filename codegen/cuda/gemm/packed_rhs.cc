#include "codegen/cuda/gemm/packed_rhs.h"

#include "codegen/contract/panels.h"

namespace tailor::cuda {

using llvm::Value;

PackedRhs::PackedRhs(MatmulFrame& matmul) : matmul_(matmul) {
  llvm::IRBuilderBase& b = matmul.b();
  const Expr& load = matmul.contraction().rhs;
  const Buffer& buffer = matmul.plan().buffers[load.ref];
  bytes_ = b.CreateMul(matmul.depth(), b.getInt64(SizeOf(buffer.dtype) * kPanelColumns), "panel.bytes");
  Value* panels = b.CreateLShr(b.CreateAdd(matmul.columns(), b.getInt64(kPanelColumns - 1)), 4, "panels");
  last_ = b.CreateSub(panels, b.getInt64(1), "panel.last");
  Value* batch = b.getInt64(0);
  for (size_t d = 0; d + 2 < load.args.size(); ++d) {
    batch = b.CreateMul(batch, matmul.frame().DimSizeValue(b, buffer.dims[d]));
    batch = b.CreateAdd(batch, matmul.scalars().Emit(load.args[d]), "rhs.batch");
  }
  Value* offset = b.CreateMul(b.CreateMul(batch, panels), bytes_, "rhs.offset");
  base_ = b.CreateGEP(b.getInt8Ty(), matmul.frame().buffers[load.ref], offset, "rhs");
}

Value* PackedRhs::Panel(Value* index) {
  llvm::IRBuilderBase& b = matmul_.b();
  Value* existing = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, index, last_, nullptr, "panel");
  return b.CreateGEP(b.getInt8Ty(), base_, b.CreateMul(existing, bytes_), "panel.address");
}

}  // namespace tailor::cuda
