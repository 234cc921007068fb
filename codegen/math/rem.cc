#include "codegen/math/functions.h"

namespace tailor::math {
namespace {

using llvm::Value;

// x| = mantissa * 2^(exponent - 1) in units of the least subnormal, all as i64.
struct Parts {
  Value* mantissa;
  Value* exponent;
};

// 64-bit integers with the lane count of a LaneMath.
struct Words {
  const LaneMath& m;
  llvm::Type* type;

  explicit Words(const LaneMath& math) : m(math), type(math.type()->getWithNewType(math.builder().getInt64Ty())) {}
  llvm::Constant* K(uint64_t value) const { return llvm::ConstantInt::get(type, value); }
};

Parts SplitFloat(const Words& w, Value* magnitude) {
  auto& b = w.m.builder();
  const int bits = w.m.mantissa_bits();
  Value* word = b.CreateZExt(w.m.Bits(magnitude, "rem.bits"), w.type, "rem.word");
  Value* field = b.CreateLShr(word, w.K(bits), "rem.field");
  Value* fraction = b.CreateAnd(word, w.K((uint64_t{1} << bits) - 1), "rem.fraction");
  Value* is_subnormal = b.CreateICmpEQ(field, w.K(0), "rem.is_subnormal");
  Value* normal = b.CreateOr(fraction, w.K(uint64_t{1} << bits), "rem.normal");
  return {b.CreateSelect(is_subnormal, fraction, normal, "rem.mantissa"),
          b.CreateSelect(is_subnormal, w.K(1), field, "rem.exponent")};
}

// mantissa * 2^steps modulo `divisor`, by as many bits per iteration as fit a word.
Value* ShiftModulo(const Words& w, Value* mantissa, Value* steps, Value* divisor) {
  auto& b = w.m.builder();
  Value* rest = b.CreateURem(mantissa, divisor, "rem.first");
  llvm::BasicBlock* before = b.GetInsertBlock();
  llvm::Function* function = before->getParent();
  auto* loop = llvm::BasicBlock::Create(b.getContext(), "rem.loop", function);
  auto* body = llvm::BasicBlock::Create(b.getContext(), "rem.body", function);
  auto* done = llvm::BasicBlock::Create(b.getContext(), "rem.done", function);
  b.CreateBr(loop);

  b.SetInsertPoint(loop);
  llvm::PHINode* current = b.CreatePHI(w.type, 2, "rem.current");
  llvm::PHINode* left = b.CreatePHI(w.type, 2, "rem.left");
  Value* more = b.CreateICmpNE(left, w.K(0), "rem.more");
  b.CreateCondBr(w.type->isVectorTy() ? b.CreateOrReduce(more) : more, body, done);

  b.SetInsertPoint(body);
  Value* most = w.K(63 - w.m.mantissa_bits());
  Value* places = b.CreateSelect(b.CreateICmpULT(left, most, "rem.is_last"), left, most, "rem.places");
  Value* next = b.CreateURem(b.CreateShl(current, places, "rem.shifted"), divisor, "rem.next");
  Value* after = b.CreateSub(left, places, "rem.after");
  b.CreateBr(loop);
  current->addIncoming(rest, before);
  current->addIncoming(next, body);
  left->addIncoming(steps, before);
  left->addIncoming(after, body);
  b.SetInsertPoint(done);
  return current;
}

// 2^exponent, a normal number; `exponent` is an integer of the float's width.
Value* PowerOfTwo(const LaneMath& m, Value* exponent) {
  auto& b = m.builder();
  Value* field = b.CreateAdd(exponent, m.KBits(m.is_double() ? 1023 : 127), "power.field");
  return m.FromBits(b.CreateShl(field, m.KBits(m.mantissa_bits()), "power.bits"), "power");
}

// mantissa * 2^(exponent - 1) units of the least subnormal, as a product of two normal factors.
Value* JoinFloat(const Words& w, Parts parts) {
  const LaneMath& m = w.m;
  auto& b = m.builder();
  const int least = m.is_double() ? -1074 : -149;
  llvm::Type* integer = m.Bits(m.K(0.0), "rem.zero")->getType();
  Value* power = b.CreateSub(b.CreateTrunc(parts.exponent, integer, "rem.narrow"), m.KBits(1), "rem.power");
  Value* first = b.CreateLShr(power, m.KBits(1), "rem.half_power");
  Value* second = b.CreateSub(power, first, "rem.other_power");
  Value* number = b.CreateSIToFP(parts.mantissa, m.type(), "rem.number");
  const int64_t low = least / 2, high = least - low;
  number = b.CreateFMul(number, PowerOfTwo(m, b.CreateAdd(first, m.KBits(low), "rem.e1")), "rem.scaled");
  return b.CreateFMul(number, PowerOfTwo(m, b.CreateAdd(second, m.KBits(high), "rem.e2")), "rem.magnitude");
}

}  // namespace

Value* Rem(const LaneMath& m, Value* x, Value* y) {
  auto& b = m.builder();
  const Words w(m);
  Value *x_magnitude = m.Abs(x, "rem.x_magnitude"), *y_magnitude = m.Abs(y, "rem.y_magnitude");
  Parts dividend = SplitFloat(w, x_magnitude), divisor = SplitFloat(w, y_magnitude);
  // A divisor of zero is replaced by one; special results are selected below.
  Value* is_zero = b.CreateICmpEQ(divisor.mantissa, w.K(0), "rem.y_is_zero");
  divisor.mantissa = b.CreateSelect(is_zero, w.K(1), divisor.mantissa, "rem.divisor");
  Value* is_less = b.CreateFCmpOLT(x_magnitude, y_magnitude, "rem.is_less");
  Value* is_below = b.CreateICmpULT(dividend.exponent, divisor.exponent, "rem.is_below");
  Value* steps = b.CreateSub(dividend.exponent, divisor.exponent, "rem.apart");
  steps = b.CreateSelect(b.CreateOr(is_less, is_below, "rem.is_done"), w.K(0), steps, "rem.steps");
  Value* rest = ShiftModulo(w, dividend.mantissa, steps, divisor.mantissa);
  Value* magnitude = JoinFloat(w, {rest, divisor.exponent});
  Value* result = b.CreateSelect(is_less, x, m.CopySign(magnitude, x, "rem.signed"), "rem.finite");
  Value* x_is_number = b.CreateFCmpOLT(x_magnitude, m.Infinity(), "rem.x_is_finite");
  Value* y_is_number = b.CreateFCmpOGT(y_magnitude, m.K(0.0), "rem.y_is_above_zero");
  Value* is_number = b.CreateAnd(x_is_number, y_is_number, "rem.is_number");
  return b.CreateSelect(is_number, result, m.NaN(), "rem");
}

Value* Mod(const LaneMath& m, Value* x, Value* y) {
  auto& b = m.builder();
  Value* rem = Rem(m, x, y);
  Value* is_zero = b.CreateFCmpOEQ(rem, m.K(0.0), "mod.is_zero");
  Value* signs = b.CreateXor(m.Bits(rem, "mod.rem_bits"), m.Bits(y, "mod.y_bits"), "mod.signs");
  Value* differs = b.CreateICmpSLT(signs, m.KBits(0), "mod.differs");
  Value* moved = b.CreateSelect(differs, b.CreateFAdd(rem, y, "mod.sum"), rem, "mod.moved");
  return b.CreateSelect(is_zero, m.CopySign(m.K(0.0), y, "mod.zero"), moved, "mod");
}

}  // namespace tailor::math
