#include "codegen/cuda/gemm/lhs_chunks.h"

namespace tailor::cuda {

using llvm::Value;

LhsChunks::LhsChunks(MatmulFrame& matmul)
    : matmul_(matmul), element_(MemoryType(matmul.b().getContext(), matmul.types().operand, 1)) {
  const Contraction& c = matmul.contraction();
  KernelPlan& plan = matmul.plan();
  if (c.fill >= 0 || plan.buffers[c.lhs.ref].layout != ConstantLayout::kRowMajor) return;
  if (!IsUnitStride(plan, LoadCoefficients(plan, c.lhs, c.k))) return;
  row_coefficients_ = LoadCoefficients(plan, c.lhs, c.m);
  if (row_coefficients_.empty()) return;

  llvm::IRBuilderBase& b = matmul.b();
  const std::vector<DimSize>& dims = plan.buffers[c.lhs.ref].dims;
  row_stride_ = b.getInt64(0);
  Value* stride = b.getInt64(1);
  for (size_t d = dims.size(); d-- > 0;) {
    Value* coefficient = matmul.scalars().Emit(row_coefficients_[d]);
    row_stride_ = b.CreateAdd(row_stride_, b.CreateMul(coefficient, stride), "row.stride");
    stride = b.CreateMul(stride, matmul.frame().DimSizeValue(b, dims[d]), "stride");
  }
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
