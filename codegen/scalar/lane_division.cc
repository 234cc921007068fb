#include "codegen/scalar/lane_division.h"

#include <cstdint>

#include "llvm/IR/Constants.h"

namespace tailor {

using llvm::Value;

// Multiplies by the reciprocal in f64. An integer below 2^52 is the low bits of the double that is 2^52 larger, and
// adding 2^52 rounds to the nearest integer. The product is within 1/4 of x / divisor, so it rounds to the quotient or
// one more; the exact remainder decides.
DividedLanes DivideLanes(llvm::IRBuilderBase& b, Value* x, Value* divisor) {
  const llvm::IRBuilderBase::FastMathFlagGuard guard(b);
  b.setFastMathFlags(llvm::FastMathFlags());  // no reassociation of (a + 2^52) - 2^52
  constexpr uint64_t kBitsOf2To52 = 0x4330000000000000;
  auto* words = llvm::cast<llvm::VectorType>(x->getType());
  auto* doubles = llvm::VectorType::get(b.getDoubleTy(), words->getElementCount());
  llvm::Constant* bits = llvm::ConstantInt::get(words, kBitsOf2To52);
  llvm::Constant* shift = llvm::ConstantFP::get(doubles, 0x1p52);
  llvm::Constant* low = llvm::ConstantInt::get(words, (uint64_t{1} << 52) - 1);
  const auto splat = [&](Value* scalar) { return b.CreateVectorSplat(words->getElementCount(), scalar); };

  Value* divisor_number = b.CreateSIToFP(divisor, b.getDoubleTy(), "divisor.number");
  Value* reciprocal = b.CreateFDiv(llvm::ConstantFP::get(b.getDoubleTy(), 1), divisor_number, "divisor.reciprocal");
  Value* number = b.CreateFSub(b.CreateBitCast(b.CreateOr(x, bits), doubles), shift, "dividend");
  Value* rounded = b.CreateFAdd(b.CreateFMul(number, splat(reciprocal)), shift, "quotient.rounded");
  Value* product = b.CreateFMul(b.CreateFSub(rounded, shift), splat(divisor_number), "product");
  Value* rest = b.CreateFSub(number, product, "rest.signed");
  Value* over = b.CreateFCmpOLT(rest, llvm::Constant::getNullValue(doubles), "quotient.over");
  Value* quotient = b.CreateAnd(b.CreateBitCast(rounded, words), low);
  quotient = b.CreateAdd(quotient, b.CreateSExt(over, words), "quotient");
  Value* natural = b.CreateSelect(over, b.CreateFAdd(rest, splat(divisor_number)), rest);
  Value* remainder = b.CreateAnd(b.CreateBitCast(b.CreateFAdd(natural, shift), words), low, "rest");
  return {quotient, remainder};
}

}  // namespace tailor
