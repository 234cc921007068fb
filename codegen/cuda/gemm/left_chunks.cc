#include "codegen/cuda/gemm/left_chunks.h"

namespace tailor::cuda {

using llvm::Value;

LeftChunks::LeftChunks(ProductFrame& product)
    : product_(product), element_(MemoryType(product.b().getContext(), product.types().operand, 1)) {
  const Contraction& c = product.contraction();
  KernelPlan& plan = product.plan();
  if (c.fill >= 0 || plan.buffers[c.lhs.ref].layout != ConstantLayout::kRowMajor) return;
  if (!IsUnitStride(plan, LoadCoefficients(plan, c.lhs, c.k))) return;
  row_coefficients_ = LoadCoefficients(plan, c.lhs, c.m);
  if (row_coefficients_.empty()) return;

  llvm::IRBuilderBase& b = product.b();
  const std::vector<Extent>& dims = plan.buffers[c.lhs.ref].dims;
  row_stride_ = b.getInt64(0);
  Value* stride = b.getInt64(1);
  for (size_t d = dims.size(); d-- > 0;) {
    Value* coefficient = product.scalars().Emit(row_coefficients_[d]);
    row_stride_ = b.CreateAdd(row_stride_, b.CreateMul(coefficient, stride), "row.stride");
    stride = b.CreateMul(stride, product.frame().ExtentValue(b, dims[d]), "stride");
  }
  product.scalars().SetAxis(c.m, b.getInt64(0));
  product.scalars().SetAxis(c.k, b.getInt64(0));
  base_ = product.scalars().AddressOf(c.lhs.ref, c.lhs.args);
  Value* address = b.CreatePtrToInt(base_, b.getInt64Ty(), "left.address");
  Value* bits = b.CreateOr(address, b.CreateMul(row_stride_, b.getInt64(SizeOf(product.types().operand))), "left.bits");
  aligned_ = b.CreateICmpEQ(b.CreateAnd(bits, kChunkBytes - 1), b.getInt64(0), "left.aligned");
}

Value* LeftChunks::Row(Value* m) {
  llvm::IRBuilderBase& b = product_.b();
  return b.CreateGEP(element_, base_, b.CreateMul(m, row_stride_), "left.row");
}

Value* LeftChunks::EmitElement(Value* m, Value* k) {
  llvm::IRBuilderBase& b = product_.b();
  Value* inside = b.CreateICmpSLT(k, product_.depth(), "inside");
  Value* existing = product_.Existing(k, b.getInt32(0), product_.depth());
  return b.CreateSelect(inside, product_.EmitLeftBits(m, existing), llvm::Constant::getNullValue(element_), "element");
}

}  // namespace tailor::cuda
