#include "codegen/math/avx512.h"
#include "codegen/math/functions.h"

namespace tailor::math {

using llvm::Value;

Value* DivideAll(const LaneMath& m, Value* x, Value* divisor) {
  auto& b = m.builder();
  llvm::Type* scalar = divisor->getType();
  const auto constant = [&](double value) { return llvm::ConstantFP::get(scalar, value); };
  const auto lanes = [&](Value* value, const char* name) {
    return b.CreateVectorSplat(llvm::cast<llvm::FixedVectorType>(m.type())->getNumElements(), value, name);
  };
  // Scales x and a divisor whose reciprocal would be subnormal or infinite.
  const double bound = m.is_double() ? 0x1p900 : 0x1p100, factor = m.is_double() ? 0x1p600 : 0x1p64;
  Value* size = b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, divisor, nullptr, "div.size");
  Value* scale = b.CreateSelect(b.CreateFCmpOLT(size, constant(1 / bound)), constant(factor), constant(1));
  scale = b.CreateSelect(b.CreateFCmpOGT(size, constant(bound)), constant(1 / factor), scale, "div.scale");
  Value* scaled = b.CreateFMul(divisor, scale, "div.scaled");
  Value* reciprocal = lanes(b.CreateFDiv(constant(1), scaled), "div.reciprocal");

  Value* dividend = b.CreateFMul(x, lanes(scale, "div.scale"), "div.dividend");
  Value* estimate = b.CreateFMul(dividend, reciprocal, "div.estimate");
  Value* rest = m.MulAdd(b.CreateFNeg(estimate), lanes(scaled, "div.divisor"), dividend, "div.rest");
  Value* corrected = m.MulAdd(rest, reciprocal, estimate, "div.corrected");
  // Zeros keep their sign; infinities and NaN pass through.
  if (m.avx512()) return UnlessSpecial(m, corrected, estimate, "div");
  return b.CreateSelect(b.CreateFCmpONE(corrected, m.K(0)), corrected, estimate, "div");
}

}  // namespace tailor::math
