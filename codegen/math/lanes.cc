#include "codegen/math/lanes.h"

#include <cassert>

#include "llvm/IR/Constants.h"
#include "llvm/IR/DerivedTypes.h"

namespace tailor::math {

LaneMath::LaneMath(llvm::IRBuilderBase& b, const EmitTarget& target, llvm::Type* type)
    : b_(b), target_(target), type_(type) {
  assert(type->getScalarType()->isFloatTy() || type->getScalarType()->isDoubleTy());
  bits_type_ = type->getWithNewType(b.getIntNTy(type->getScalarSizeInBits()));
}

LaneMath LaneMath::Widened() const { return LaneMath(b_, target_, type_->getWithNewType(b_.getDoubleTy())); }

llvm::Value* LaneMath::K(double value) const { return llvm::ConstantFP::get(type_, value); }
llvm::Value* LaneMath::KBits(uint64_t bits) const { return llvm::ConstantInt::get(bits_type_, bits); }
llvm::Value* LaneMath::Infinity() const { return llvm::ConstantFP::getInfinity(type_); }
llvm::Value* LaneMath::NaN() const { return llvm::ConstantFP::getNaN(type_); }

llvm::Value* LaneMath::Bits(llvm::Value* x, const llvm::Twine& name) const {
  return b_.CreateBitCast(x, bits_type_, name);
}

llvm::Value* LaneMath::FromBits(llvm::Value* bits, const llvm::Twine& name) const {
  return b_.CreateBitCast(bits, type_, name);
}

llvm::Value* LaneMath::MulAdd(llvm::Value* x, llvm::Value* y, llvm::Value* z, const llvm::Twine& name) const {
  if (target_.fma) return b_.CreateIntrinsic(llvm::Intrinsic::fma, {type_}, {x, y, z}, nullptr, name);
  return b_.CreateFAdd(b_.CreateFMul(x, y, name + ".product"), z, name);
}

llvm::Value* LaneMath::Horner(llvm::Value* x, llvm::ArrayRef<double> coefficients, const llvm::Twine& name) const {
  assert(!coefficients.empty());
  llvm::Value* sum = K(coefficients.front());
  for (double c : coefficients.drop_front()) sum = MulAdd(sum, x, K(c), name);
  return sum;
}

llvm::Value* LaneMath::HornerOfPairs(llvm::Value* x, llvm::ArrayRef<double> coefficients,
                                     const llvm::Twine& name) const {
  assert(!coefficients.empty());
  llvm::Value* square = b_.CreateFMul(x, x, name + ".square");
  const size_t first = coefficients.size() % 2 == 0 ? 2 : 1;
  llvm::Value* sum = Horner(x, coefficients.take_front(first), name);
  for (llvm::ArrayRef<double> rest = coefficients.drop_front(first); !rest.empty(); rest = rest.drop_front(2)) {
    sum = MulAdd(sum, square, Horner(x, rest.take_front(2), name + ".pair"), name);
  }
  return sum;
}

llvm::Value* LaneMath::AddExponent(llvm::Value* x, llvm::Value* exponent, const llvm::Twine& name) const {
  llvm::Value* field = b_.CreateShl(exponent, KBits(mantissa_bits()), name + ".field");
  return FromBits(b_.CreateAdd(Bits(x, name + ".bits"), field, name + ".sum"), name);
}

llvm::Value* LaneMath::Abs(llvm::Value* x, const llvm::Twine& name) const {
  return b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x, nullptr, name);
}

llvm::Value* LaneMath::CopySign(llvm::Value* magnitude, llvm::Value* sign, const llvm::Twine& name) const {
  return b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, magnitude, sign, nullptr, name);
}

llvm::Value* LaneMath::AtMost(llvm::Value* x, double bound, const llvm::Twine& name) const {
  return b_.CreateBinaryIntrinsic(llvm::Intrinsic::minimum, x, K(bound), nullptr, name);
}

llvm::Value* LaneMath::AtLeast(llvm::Value* x, double bound, const llvm::Twine& name) const {
  return b_.CreateBinaryIntrinsic(llvm::Intrinsic::maximum, x, K(bound), nullptr, name);
}

}  // namespace tailor::math
