#include "codegen/math/avx512.h"

#include <cassert>

#include "codegen/math/registers.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/IntrinsicsX86.h"

namespace tailor::math {
namespace {

using llvm::Value;

constexpr int kRegisterBits = 512;
constexpr int kCurrentRounding = 4;  // operand value: rounding mode of MXCSR

// Calls `single` (f32) or `twofold` (f64), by the type of the first operand: an intrinsic whose last operands are a
// mask, here all lanes, and a rounding mode.
Value* CallMasked(llvm::IRBuilderBase& b, llvm::Intrinsic::ID single, llvm::Intrinsic::ID twofold, Registers operands) {
  llvm::SmallVector<Value*> arguments(operands.begin(), operands.end());
  llvm::Type* type = operands[0]->getType();
  arguments.push_back(
      llvm::ConstantInt::getAllOnesValue(b.getIntNTy(llvm::cast<llvm::FixedVectorType>(type)->getNumElements())));
  arguments.push_back(b.getInt32(kCurrentRounding));
  return b.CreateIntrinsic(type->getScalarType()->isDoubleTy() ? twofold : single, {}, arguments);
}

// The pass-through operand of a masked intrinsic; unused, since the mask has all lanes.
Value* Kept(Value* like) { return llvm::PoisonValue::get(like->getType()); }

// `choice` has four bits per class of `other`, from the lowest: quiet NaN, signalling NaN, zero, one, -inf, inf,
// negative and positive. 0 selects x, 1 `other`, 3 NaN, 8 zero.
Value* CallFixUp(const LaneMath& m, Value* x, Value* other, uint64_t choice, const llvm::Twine& name) {
  auto& b = m.builder();
  return ByRegister(b, kRegisterBits, m.type(), {x, other}, name, [&](Registers r) {
    llvm::Type* bits = r[0]->getType()->getWithNewType(b.getIntNTy(m.type()->getScalarSizeInBits()));
    return CallMasked(b, llvm::Intrinsic::x86_avx512_mask_fixupimm_ps_512,
                      llvm::Intrinsic::x86_avx512_mask_fixupimm_pd_512,
                      {r[0], r[1], llvm::ConstantInt::get(bits, choice), b.getInt32(0)});
  });
}

}  // namespace

Value* ScaleByPower(const LaneMath& m, Value* x, Value* exponent, const llvm::Twine& name) {
  auto& b = m.builder();
  return ByRegister(b, kRegisterBits, m.type(), {x, exponent}, name, [&](Registers r) {
    return CallMasked(b, llvm::Intrinsic::x86_avx512_mask_scalef_ps_512, llvm::Intrinsic::x86_avx512_mask_scalef_pd_512,
                      {r[0], r[1], Kept(r[0])});
  });
}

// The exponent fields of 0.5 and 1 differ only in the last bit, and no other exponent shares their other bits.
Value* NearOne(const LaneMath& m, Value* x, const llvm::Twine& name) {
  auto& b = m.builder();
  const uint64_t one = m.is_double() ? 0x3ff0'0000'0000'0000 : 0x3f80'0000;
  const uint64_t half = m.is_double() ? 0x3fe0'0000'0000'0000 : 0x3f00'0000;
  const uint64_t mantissa = (uint64_t{1} << m.mantissa_bits()) - 1;
  Value* allowed = b.CreateAnd(m.Bits(x, name + ".bits"), m.KBits(one | mantissa), name + ".allowed");
  return m.FromBits(b.CreateOr(allowed, m.KBits(half), name + ".required"), name);
}

Value* BoundedMagnitude(const LaneMath& m, Value* x, double bound, const llvm::Twine& name) {
  constexpr int kLesserMagnitudeNoSign = 0b1010;
  auto& b = m.builder();
  return ByRegister(b, kRegisterBits, m.type(), {x}, name, [&](Registers r) {
    Value* bounds = llvm::ConstantFP::get(r[0]->getType(), bound);
    return CallMasked(b, llvm::Intrinsic::x86_avx512_mask_range_ps_512, llvm::Intrinsic::x86_avx512_mask_range_pd_512,
                      {r[0], bounds, b.getInt32(kLesserMagnitudeNoSign), Kept(r[0])});
  });
}

Value* ReduceFraction(const LaneMath& m, Value* x, int bits, const llvm::Twine& name) {
  assert(bits >= 0 && bits < 16);
  constexpr int kToNearest = 0b0000;
  auto& b = m.builder();
  return ByRegister(b, kRegisterBits, m.type(), {x}, name, [&](Registers r) {
    return CallMasked(b, llvm::Intrinsic::x86_avx512_mask_reduce_ps_512, llvm::Intrinsic::x86_avx512_mask_reduce_pd_512,
                      {r[0], b.getInt32(bits << 4 | kToNearest), Kept(r[0])});
  });
}

Value* UnlessSpecial(const LaneMath& m, Value* x, Value* other, const llvm::Twine& name) {
  return CallFixUp(m, x, other, 0x00110111, name);
}

Value* PositivePart(const LaneMath& m, Value* x, const llvm::Twine& name) {
  return CallFixUp(m, x, x, 0x18130111, name);
}

}  // namespace tailor::math
