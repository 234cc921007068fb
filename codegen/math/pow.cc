#include "codegen/math/functions.h"
#include "codegen/math/pairs.h"

namespace tailor::math {
namespace {

using llvm::Value;

// log2(m) = s L(s^2) with s = (m - 1) / (m + 1), to 2^-45.
constexpr double kLog2[] = {0.28291018902779663, 0.3199049676750449, 0.4122092709381277,
                            0.5770779421719872,  0.9617966941140443, 2.8853900817778495};
// 2^r on |r| <= 1/2, to 2^-34.
constexpr double kExp2[] = {1.5201890125355747e-05, 0.00015469292409838936, 0.0013333922743327595, 0.009618027250089773,
                            0.05550410353151244,    0.24022651198169712,    0.6931471807285635,    0.999999999961687};
constexpr double kRoundMagic = 6755399441055744.0;  // 1.5 * 2^52

// log(m) = 2s + 2/3 s z + s z^2 T(z), z = s^2.
constexpr double kLogTail[] = {0.11989546538869109, 0.11674754585366824, 0.13336320561017168, 0.15384556789552736,
                               0.18181818871504163, 0.2222222221752682,  0.2857142857144515,  0.3999999999999998};

// base^exponent for 0 < base < inf in f32, computed in f64. The conversion back rounds once, including to zero,
// subnormals and inf.
Value* MagnitudeF32(const LaneMath& m, Value* base, Value* exponent) {
  auto& b = m.builder();
  LaneMath d = m.Widened();
  BinaryParts parts = SplitBinary(d, b.CreateFPExt(base, d.type(), "pow.base"));
  Value* above = b.CreateFAdd(parts.mantissa, d.K(1.0), "pow.m_plus_one");
  Value* s = b.CreateFDiv(b.CreateFSub(parts.mantissa, d.K(1.0), "pow.m_less_one"), above, "pow.s");
  Value* series = d.Horner(b.CreateFMul(s, s, "pow.z"), kLog2, "pow.log_poly");
  Value* log2 = d.MulAdd(s, series, b.CreateSIToFP(parts.exponent, d.type(), "pow.e"), "pow.log2");
  Value* power = b.CreateFMul(log2, b.CreateFPExt(exponent, d.type(), "pow.exponent"), "pow.power");
  power = d.AtMost(d.AtLeast(power, -200.0, "pow.floored"), 200.0, "pow.bounded");
  Value* magic = d.K(kRoundMagic);
  Value* shifted = b.CreateFAdd(power, magic, "pow.shifted");
  Value* n = b.CreateSub(d.Bits(shifted, "pow.shifted_bits"), d.Bits(magic, "pow.magic"), "pow.n");
  Value* r = b.CreateFSub(power, b.CreateFSub(shifted, magic, "pow.whole"), "pow.r");
  Value* result = d.AddExponent(d.Horner(r, kExp2, "pow.exp_poly"), n, "pow.wide");
  return b.CreateFPTrunc(result, m.type(), "pow.magnitude");
}

// log(m * 2^e) for m in [sqrt(1/2), sqrt(2)), relative error about 2^-66.
Pair LogPair(const LaneMath& m, BinaryParts parts) {
  auto& b = m.builder();
  Value* f = b.CreateFSub(parts.mantissa, m.K(1.0), "pow.f");
  Pair divisor = FastSum(m, m.K(2.0), f, "pow.divisor");
  Value* s_hi = b.CreateFDiv(f, divisor.hi, "pow.s_hi");
  // The remainder of the division (exact except for the last product) gives the low half of s.
  Pair back = Product(m, s_hi, divisor.hi, "pow.back");
  Value* remainder = b.CreateFSub(b.CreateFSub(f, back.hi, "pow.f_less_hi"), back.lo, "pow.remainder");
  remainder = b.CreateFSub(remainder, b.CreateFMul(s_hi, divisor.lo, "pow.s_lo_part"), "pow.rest");
  Pair s = FastSum(m, s_hi, b.CreateFDiv(remainder, divisor.hi, "pow.s_lo"), "pow.s");
  Pair z = Product(m, s, s, "pow.z");
  Value* tail = b.CreateFMul(b.CreateFMul(z.hi, z.hi, "pow.z2"), m.Horner(z.hi, kLogTail, "pow.poly"), "pow.tail");
  Pair third = Product(m, z, Pair{m.K(2.0 / 3), m.K(0x1.5555555555555p-55)}, "pow.third");
  Pair series = Sum(m, third, Pair{tail, m.K(0.0)}, "pow.series");
  Pair correction = Product(m, s, series, "pow.correction");
  Pair twice{b.CreateFMul(s.hi, m.K(2.0), "pow.twice_hi"), b.CreateFMul(s.lo, m.K(2.0), "pow.twice_lo")};
  Pair mantissa = Sum(m, twice, correction, "pow.log_mantissa");
  // e * ln 2 in two parts; the first has 33 bits, so its product is exact.
  Value* e = b.CreateSIToFP(parts.exponent, m.type(), "pow.e");
  Value* e_hi = b.CreateFMul(e, m.K(0.693147180369123816490), "pow.e_ln2_hi");
  Pair e_lo = Product(m, e, m.K(1.90821492927058770002e-10), "pow.e_ln2_lo");
  return Sum(m, FastSum(m, e_hi, e_lo.hi, "pow.e_ln2"), mantissa, "pow.log");
}

// base^exponent for 0 < base < inf in f64.
Value* MagnitudeF64(const LaneMath& m, Value* base, Value* exponent) {
  auto& b = m.builder();
  Value* is_tiny = b.CreateFCmpOLT(base, m.K(0x1p-1022), "pow.is_tiny");
  Value* normal = b.CreateSelect(is_tiny, b.CreateFMul(base, m.K(0x1p54), "pow.raised"), base, "pow.normal");
  BinaryParts parts = SplitBinary(m, normal);
  Value* lowered = b.CreateSub(parts.exponent, m.KBits(54), "pow.lowered");
  parts.exponent = b.CreateSelect(is_tiny, lowered, parts.exponent, "pow.exponent");
  Pair log = LogPair(m, parts);
  // Beyond 2^65 every exponent overflows or underflows, or the base is 1; below 2^-65 the result is 1.
  Value* bounded = m.AtMost(m.AtLeast(exponent, -0x1p65, "pow.y_floored"), 0x1p65, "pow.y");
  Pair power = Product(m, log.hi, bounded, "pow.power");
  Value* low = m.MulAdd(log.lo, bounded, power.lo, "pow.power_low");
  Value* result = Exp(m, power.hi);
  // exp(hi + low) is about exp(hi) + exp(hi) * low; an infinite exp(hi) is kept.
  Value* corrected = m.MulAdd(result, low, result, "pow.corrected");
  Value* is_bounded = b.CreateFCmpOLT(result, m.Infinity(), "pow.is_bounded");
  return b.CreateSelect(is_bounded, corrected, result, "pow.magnitude");
}

// Zero to a positive power and inf to a negative power are 0; zero to a negative and inf to a positive power are inf.
Value* OfEdgeBase(const LaneMath& m, Value* base_magnitude, Value* exponent, Value* otherwise) {
  auto& b = m.builder();
  Value* is_zero = b.CreateFCmpOEQ(base_magnitude, m.K(0.0), "pow.base_is_zero");
  Value* is_infinite = b.CreateFCmpOEQ(base_magnitude, m.Infinity(), "pow.base_is_inf");
  Value* is_positive = b.CreateFCmpOGT(exponent, m.K(0.0), "pow.exponent_is_positive");
  Value* blows_up = b.CreateXor(is_zero, is_positive, "pow.blows_up");
  Value* edge = b.CreateSelect(blows_up, m.Infinity(), m.K(0.0), "pow.edge");
  return b.CreateSelect(b.CreateOr(is_zero, is_infinite, "pow.is_edge"), edge, otherwise, "pow.of_edge");
}

}  // namespace

Value* Pow(const LaneMath& m, Value* base, Value* exponent) {
  auto& b = m.builder();
  Value* base_magnitude = m.Abs(base, "pow.base_magnitude");
  Value* magnitude =
      m.is_double() ? MagnitudeF64(m, base_magnitude, exponent) : MagnitudeF32(m, base_magnitude, exponent);
  magnitude = OfEdgeBase(m, base_magnitude, exponent, magnitude);
  Value* is_unit = b.CreateFCmpOEQ(base_magnitude, m.K(1.0), "pow.is_unit");
  magnitude = b.CreateSelect(is_unit, m.K(1.0), magnitude, "pow.of_unit");
  // An odd exponent keeps the base's sign; a negative finite base needs an integer exponent.
  Value* whole = b.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, exponent, nullptr, "pow.whole");
  Value* is_whole = b.CreateFCmpOEQ(whole, exponent, "pow.is_whole");
  Value* half = b.CreateFMul(exponent, m.K(0.5), "pow.half");
  Value* half_whole = b.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, half, nullptr, "pow.half_whole");
  Value* is_odd = b.CreateAnd(is_whole, b.CreateFCmpUNE(half_whole, half, "pow.half_is_not"), "pow.is_odd");
  Value* with_sign = m.CopySign(magnitude, base, "pow.with_sign");
  Value* result = b.CreateSelect(is_odd, with_sign, magnitude, "pow.signed");
  Value* is_negative = b.CreateFCmpOLT(base, m.K(0.0), "pow.is_negative");
  Value* is_finite = b.CreateFCmpOLT(base_magnitude, m.Infinity(), "pow.is_finite");
  Value* is_domain_error = b.CreateAnd(b.CreateAnd(is_negative, is_finite, "pow.negative_finite"),
                                       b.CreateNot(is_whole, "pow.is_fraction"), "pow.is_domain_error");
  result = b.CreateSelect(is_domain_error, m.NaN(), result, "pow.or_nan");
  Value* is_nan = b.CreateFCmpUNO(base, exponent, "pow.is_nan");
  result = b.CreateSelect(is_nan, b.CreateFAdd(base, exponent, "pow.nan"), result, "pow.with_nan");
  Value* is_one = b.CreateOr(b.CreateFCmpOEQ(base, m.K(1.0), "pow.base_is_one"),
                             b.CreateFCmpOEQ(exponent, m.K(0.0), "pow.exponent_is_zero"), "pow.is_one");
  return b.CreateSelect(is_one, m.K(1.0), result, "pow");
}

}  // namespace tailor::math
