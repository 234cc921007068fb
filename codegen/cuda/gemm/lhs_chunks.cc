#include "codegen/cuda/gemm/lhs_chunks.h"

namespace tailor::cuda {

using llvm::Value;

LhsChunks::LhsChunks(MatmulFrame& matmul)
    : matmul_(matmul), element_(MemoryType(matmul.b().getContext(), matmul.types().operand, 1)) {
  const Contraction& c = matmul.contraction();
  KernelPlan& plan = matmul.plan();
  if (c.fill >= 0 || plan.buffers[c.lhs.ref].layout != ConstantLayout::kRowMajor) return;
  const AccessMap rows = MapOf(plan, c.lhs, c.m);
  if (!rows.IsAffine() || !MapOf(plan, c.lhs, c.k).IsUnitInLastDim()) return;

  llvm::IRBuilderBase& b = matmul.b();
  row_stride_ = matmul.scalars().EmitStride(rows, c.lhs.ref, "row.stride");
  matmul.scalars().SetAxis(c.m, b.getInt64(0));
  matmul.scalars().SetAxis(c.k, b.getInt64(0));
  base_ = matmul.scalars().AddressOf(c.lhs.ref, c.lhs.args);
  Value* address = b.CreatePtrToInt(base_, b.getInt64Ty(), "lhs.address");
  Value* bits = b.CreateOr(address, b.CreateMul(row_stride_, b.getInt64(SizeOf(matmul.types().operand))), "lhs.bits");
  aligned_ = b.CreateICmpEQ(b.CreateAnd(bits, kChunkBytes - 1), b.getInt64(0), "lhs.aligned");
}

Value* LhsChunks::Row(Value* m) {
  llvm::IRBuilderBase& b = matmul_.b();
  return b.CreateGEP(element_, base_, b.CreateMul(m, row_stride_), "lhs.row");
}

Value* LhsChunks::EmitElement(Value* m, Value* k) {
  llvm::IRBuilderBase& b = matmul_.b();
  Value* inside = b.CreateICmpSLT(k, matmul_.depth(), "inside");
  Value* existing = matmul_.Existing(k, b.getInt32(0), matmul_.depth());
  return b.CreateSelect(inside, matmul_.EmitLhsBits(m, existing), llvm::Constant::getNullValue(element_), "element");
}

}  // namespace tailor::cuda
