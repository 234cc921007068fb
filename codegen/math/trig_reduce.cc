#include "codegen/math/trig_reduce.h"

#include <array>

#include "llvm/IR/Module.h"

namespace tailor::math {
namespace {

using llvm::Value;

constexpr double kRoundMagic = 6755399441055744.0;  // 1.5 * 2^52
constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;
constexpr double kHalfPi = 0x1.921fb54442d18p+0, kHalfPiLow = 0x1.1a62633145c07p-54;
// pi/2 in parts of 33 bits, so that products with a quadrant below 2^20 are exact, and the remainder.
constexpr double kPart1 = 0x1.921fb544p+0, kPart2 = 0x1.0b4611a6p-34, kPart3 = 0x1.3198a2ep-69;
constexpr double kPart4 = 0x1.b839a252049c1p-104;
constexpr double kAfterPart1 = 0x1.0b4611a626331p-34;

// From here on the quadrant has too many bits for exact products with the parts.
constexpr double kLarge = 0x1p20;
constexpr int64_t kLargeExponent = 1023 + 20;  // its exponent field

// 2/pi: 32-bit words after the binary point, preceded by two zero words.
constexpr uint64_t kTwoOverPiWords[] = {
    0,          0,          0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041,
    0xfe5163ab, 0xdebbc561, 0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c, 0xfe1deb1c, 0xb129a73e,
    0xe88235f5, 0x2ebb4484, 0xe99c7026, 0xb45f7e41, 0x3991d639, 0x835339f4, 0x9c845f8b, 0xbdf9283b,
    0x1ff897ff, 0xde05980f, 0xef2f118b, 0x5a0a6d1f, 0x6d367ecf, 0x27cb09b7, 0x4f463f66, 0x9e5fea2d,
    0x7527bac7, 0xebe5f17b, 0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1, 0x1f8d5d08, 0x56033046};
// Words of the product: the integer part, 128 fraction bits (of which 61 may be zero), and one word for the carry.
constexpr int kPlaces = 6;
constexpr int kWindow = kPlaces + 2;  // words that contribute to them for a mantissa of three words

// Cody and Waite: x minus n times the parts of pi/2.
QuarterTurns ReduceModerate(const LaneMath& m, Value* x, bool single) {
  auto& b = m.builder();
  Value* shifted = m.MulAdd(x, m.K(kTwoOverPi), m.K(kRoundMagic), "turns.shifted");
  Value* n = b.CreateFSub(shifted, m.K(kRoundMagic), "turns.n");
  Value* quadrant = m.Bits(shifted, "turns.quadrant");
  Value* first = m.MulAdd(n, m.K(-kPart1), x, "turns.first");
  if (single) return {quadrant, {m.MulAdd(n, m.K(-kAfterPart1), first, "turns.rest"), m.K(0.0)}};
  Pair second = ExactSum(m, first, b.CreateFMul(n, m.K(-kPart2), "turns.n_part2"), "turns.second");
  Pair third = ExactSum(m, second.hi, b.CreateFMul(n, m.K(-kPart3), "turns.n_part3"), "turns.third");
  Value* low = b.CreateFAdd(second.lo, third.lo, "turns.lows");
  return {quadrant, FastSum(m, third.hi, m.MulAdd(n, m.K(-kPart4), low, "turns.low"), "turns.rest")};
}

// kTwoOverPiWords[first + i] per lane, for i in [0, kWindow).
std::array<Value*, kWindow> LoadWindow(const LaneMath& m, Value* first) {
  auto& b = m.builder();
  llvm::Module* module = b.GetInsertBlock()->getModule();
  auto* words = llvm::ConstantDataArray::get(b.getContext(), llvm::ArrayRef<uint64_t>(kTwoOverPiWords));
  llvm::GlobalVariable* table = module->getNamedGlobal("tailor.two_over_pi");
  if (table == nullptr) {
    table = new llvm::GlobalVariable(*module, words->getType(), true, llvm::GlobalValue::PrivateLinkage, words,
                                     "tailor.two_over_pi");
  }
  std::array<Value*, kWindow> window;
  for (int i = 0; i < kWindow; ++i) {
    Value* at = b.CreateGEP(b.getInt64Ty(), table, b.CreateAdd(first, m.KBits(i), "window.index"), "window.at");
    auto* lanes = llvm::dyn_cast<llvm::FixedVectorType>(m.type());
    if (lanes == nullptr) {
      window[i] = b.CreateAlignedLoad(b.getInt64Ty(), at, llvm::Align(8), "window.word");
    } else {
      window[i] = b.CreateMaskedGather(first->getType(), at, llvm::Align(8), nullptr, nullptr, "window.word");
    }
  }
  return window;
}

// x| = sum of words[i] * 2^(32 (i + step - 1)); words are below 2^32.
struct Mantissa {
  std::array<Value*, 3> words;
  Value* step;
};

Mantissa SplitMantissa(const LaneMath& m, Value* magnitude) {
  auto& b = m.builder();
  Value* bits = m.Bits(magnitude, "payne.bits");
  Value* exponent = b.CreateSub(b.CreateLShr(bits, m.KBits(52), "payne.field"), m.KBits(kLargeExponent), "payne.e");
  Value* low_mask = m.KBits(0xffffffffu);
  Value* shift = b.CreateAnd(exponent, m.KBits(31), "payne.shift");
  Value* hidden = m.KBits(uint64_t{1} << 52);
  Value* mantissa =
      b.CreateOr(b.CreateAnd(bits, m.KBits((uint64_t{1} << 52) - 1), "payne.fraction"), hidden, "payne.mantissa");
  Value* low = b.CreateShl(b.CreateAnd(mantissa, low_mask, "payne.low"), shift, "payne.low_shifted");
  Value* high = b.CreateShl(b.CreateLShr(mantissa, m.KBits(32), "payne.high"), shift, "payne.high_shifted");
  high = b.CreateAdd(high, b.CreateLShr(low, m.KBits(32), "payne.carry"), "payne.high_sum");
  return {{b.CreateAnd(low, low_mask, "payne.m0"), b.CreateAnd(high, low_mask, "payne.m1"),
           b.CreateLShr(high, m.KBits(32), "payne.m2")},
          b.CreateLShr(exponent, m.KBits(5), "payne.step")};
}

// Payne and Hanek: |x| * 2/pi modulo 4 in 32-bit words: digits[0] is the integer part, the others the fraction.
// Requires |x| >= kLarge and finite.
std::array<Value*, kPlaces> MultiplyByTwoOverPi(const LaneMath& m, Value* magnitude) {
  auto& b = m.builder();
  Mantissa mantissa = SplitMantissa(m, magnitude);
  std::array<Value*, kWindow> window = LoadWindow(m, mantissa.step);
  std::array<Value*, kPlaces> digits;
  digits.fill(m.KBits(0));
  Value* low_mask = m.KBits(0xffffffffu);
  for (int place = 0; place < kPlaces; ++place) {
    for (int i = 0; i < 3; ++i) {
      Value* product = b.CreateMul(mantissa.words[i], window[i + place], "payne.product");
      digits[place] = b.CreateAdd(digits[place], b.CreateAnd(product, low_mask, "payne.part"), "payne.digit");
      if (place == 0) continue;  // the upper half is a multiple of 4 quarter turns
      Value* upper = b.CreateLShr(product, m.KBits(32), "payne.upper");
      digits[place - 1] = b.CreateAdd(digits[place - 1], upper, "payne.digit");
    }
  }
  for (int place = kPlaces - 1; place > 0; --place) {
    Value* carry = b.CreateLShr(digits[place], m.KBits(32), "payne.carry");
    digits[place] = b.CreateAnd(digits[place], low_mask, "payne.digit");
    digits[place - 1] = b.CreateAdd(digits[place - 1], carry, "payne.digit");
  }
  return digits;
}

QuarterTurns ReduceLarge(const LaneMath& m, Value* x) {
  auto& b = m.builder();
  auto digits = MultiplyByTwoOverPi(m, m.Abs(x, "payne.magnitude"));
  // If the first fraction digit is >= 2^31, the quadrant rounds up and the remainder is negative.
  Value* quadrant = b.CreateAdd(digits[0], b.CreateLShr(digits[1], m.KBits(31), "payne.round"), "payne.quadrant");
  Value* first = b.CreateAShr(b.CreateShl(digits[1], m.KBits(32), "payne.top"), m.KBits(32), "payne.signed");
  auto scaled = [&](Value* digit, double unit) {
    return b.CreateFMul(b.CreateSIToFP(digit, m.type(), "payne.number"), m.K(unit), "payne.scaled");
  };
  Pair high = FastSum(m, scaled(first, 0x1p-32), scaled(digits[2], 0x1p-64), "payne.turns_high");
  Value* low = b.CreateFAdd(scaled(digits[3], 0x1p-96), scaled(digits[4], 0x1p-128), "payne.low");
  Pair turns = FastSum(m, high.hi, b.CreateFAdd(high.lo, low, "payne.lows"), "payne.turns");
  Pair rest = Product(m, turns, Pair{m.K(kHalfPi), m.K(kHalfPiLow)}, "payne.rest");
  Value* is_negative = b.CreateFCmpOLT(x, m.K(0.0), "payne.is_negative");
  auto with_sign = [&](Value* half) {
    return b.CreateSelect(is_negative, b.CreateFNeg(half, "payne.minus"), half, "payne.rest_signed");
  };
  return {b.CreateSelect(is_negative, b.CreateNeg(quadrant, "payne.minus_quadrant"), quadrant, "payne.turn"),
          {with_sign(rest.hi), with_sign(rest.lo)}};
}

}  // namespace

QuarterTurns ReduceQuarterTurns(const LaneMath& m, Value* x, bool single) {
  auto& b = m.builder();
  QuarterTurns moderate = ReduceModerate(m, x, single);
  Value* magnitude = m.Abs(x, "turns.magnitude");
  Value* is_large = b.CreateAnd(b.CreateFCmpOGE(magnitude, m.K(kLarge), "turns.is_beyond"),
                                b.CreateFCmpOLT(magnitude, m.Infinity(), "turns.is_finite"), "turns.is_large");
  Value* any = is_large->getType()->isVectorTy() ? b.CreateOrReduce(is_large) : is_large;
  llvm::Function* function = b.GetInsertBlock()->getParent();
  llvm::BasicBlock* before = b.GetInsertBlock();
  auto* large_block = llvm::BasicBlock::Create(b.getContext(), "turns.large", function);
  auto* done = llvm::BasicBlock::Create(b.getContext(), "turns.done", function);
  b.CreateCondBr(any, large_block, done);

  b.SetInsertPoint(large_block);
  // Other lanes reduce kLarge instead, so that their table reads are in bounds.
  QuarterTurns large = ReduceLarge(m, b.CreateSelect(is_large, x, m.K(kLarge), "turns.large_x"));
  auto choose = [&](Value* of_large, Value* of_moderate) {
    return b.CreateSelect(is_large, of_large, of_moderate, "turns.chosen");
  };
  const QuarterTurns chosen{choose(large.quadrant, moderate.quadrant),
                            {choose(large.rest.hi, moderate.rest.hi), choose(large.rest.lo, moderate.rest.lo)}};
  llvm::BasicBlock* chosen_block = b.GetInsertBlock();
  b.CreateBr(done);

  b.SetInsertPoint(done);
  auto merge = [&](Value* of_moderate, Value* of_chosen) {
    llvm::PHINode* phi = b.CreatePHI(of_moderate->getType(), 2, "turns.merged");
    phi->addIncoming(of_moderate, before);
    phi->addIncoming(of_chosen, chosen_block);
    return phi;
  };
  Value* quadrant = merge(moderate.quadrant, chosen.quadrant);
  Value* hi = merge(moderate.rest.hi, chosen.rest.hi);
  return {quadrant, {hi, single ? m.K(0.0) : merge(moderate.rest.lo, chosen.rest.lo)}};
}

}  // namespace tailor::math
