#include "codegen/math/functions.h"

namespace tailor::math {
namespace {

using llvm::Value;

// log(1 + f) = f - f^2/2 + f^3 P(f).
constexpr double kPolynomialF32[] = {-0.07634449005126953, 0.12761525809764862, -0.13160181045532227,
                                     0.1420176923274994,   -0.1662335842847824, 0.20001226663589478,
                                     -0.2500081956386566,  0.3333333134651184};
// log(1 + f) = 2s + s z R(z), s = f / (2 + f), z = s^2.
constexpr double kPolynomialF64[] = {0.1479662625745982,  0.15313986596721105, 0.18183566676161364, 0.22222198531004425,
                                     0.28571428742767013, 0.3999999999941313,  0.6666666666666735};

Value* LogF32(const LaneMath& m, Value* f, Value* n) {
  auto& b = m.builder();
  Value* square = b.CreateFMul(f, f, "log.f2");
  Value* cube = b.CreateFMul(square, f, "log.f3");
  Value* low = b.CreateFMul(n, m.K(-2.12194440e-4), "log.n_ln2_lo");
  Value* tail = m.MulAdd(m.Horner(f, kPolynomialF32, "log.poly"), cube, low, "log.cubic");
  tail = m.MulAdd(square, m.K(-0.5), tail, "log.tail");
  return m.MulAdd(n, m.K(0.693359375), b.CreateFAdd(f, tail, "log.mantissa"), "log.finite");
}

// f - (f^2/2 - s (f^2/2 + z R)): f stays exact until the last addition.
Value* LogF64(const LaneMath& m, Value* f, Value* n) {
  auto& b = m.builder();
  Value* s = b.CreateFDiv(f, b.CreateFAdd(f, m.K(2.0), "log.two_plus_f"), "log.s");
  Value* z = b.CreateFMul(s, s, "log.z");
  Value* series = b.CreateFMul(z, m.Horner(z, kPolynomialF64, "log.poly"), "log.series");
  Value* half_square = b.CreateFMul(b.CreateFMul(f, m.K(0.5), "log.half_f"), f, "log.half_square");
  Value* low = b.CreateFMul(n, m.K(1.90821492927058770002e-10), "log.n_ln2_lo");
  Value* tail = m.MulAdd(s, b.CreateFAdd(half_square, series, "log.sum"), low, "log.tail");
  Value* mantissa = b.CreateFSub(f, b.CreateFSub(half_square, tail, "log.correction"), "log.mantissa");
  return m.MulAdd(n, m.K(0.693147180369123816490), mantissa, "log.finite");
}

}  // namespace

BinaryParts SplitBinary(const LaneMath& m, Value* x) {
  auto& b = m.builder();
  // The bits of sqrt(1/2): after their subtraction the exponent changes where the mantissa passes sqrt(2).
  const uint64_t root_half = m.is_double() ? 0x3fe6a09e667f3bcdu : 0x3f3504f3u;
  const uint64_t mantissa_mask = (uint64_t{1} << m.mantissa_bits()) - 1;
  Value* offset = b.CreateSub(m.Bits(x, "log.bits"), m.KBits(root_half), "log.offset");
  Value* exponent = b.CreateAShr(offset, m.KBits(m.mantissa_bits()), "log.exponent");
  Value* low = b.CreateAnd(offset, m.KBits(mantissa_mask), "log.low");
  return {m.FromBits(b.CreateAdd(low, m.KBits(root_half), "log.mantissa_bits"), "log.m"), exponent};
}

Value* Log(const LaneMath& m, Value* x) {
  auto& b = m.builder();
  const double least_normal = m.is_double() ? 0x1p-1022 : 0x1p-126;
  const double raise = m.is_double() ? 0x1p52 : 0x1p23;
  Value* is_tiny = b.CreateFCmpOLT(x, m.K(least_normal), "log.is_tiny");
  Value* normal = b.CreateSelect(is_tiny, b.CreateFMul(x, m.K(raise), "log.raised"), x, "log.normal");
  BinaryParts parts = SplitBinary(m, normal);
  Value* lowered = b.CreateSub(parts.exponent, m.KBits(m.mantissa_bits()), "log.lowered");
  Value* exponent = b.CreateSelect(is_tiny, lowered, parts.exponent, "log.e");
  Value* n = b.CreateSIToFP(exponent, m.type(), "log.n");
  Value* f = b.CreateFSub(parts.mantissa, m.K(1.0), "log.f");
  Value* finite = m.is_double() ? LogF64(m, f, n) : LogF32(m, f, n);
  // Special values: zero gives -inf, negative numbers NaN; inf and NaN stay.
  Value* is_negative = b.CreateFCmpOLT(x, m.K(0.0), "log.is_negative");
  Value* is_zero = b.CreateFCmpOEQ(x, m.K(0.0), "log.is_zero");
  Value* minus_infinity = llvm::ConstantFP::getInfinity(m.type(), true);
  Value* special = b.CreateSelect(is_negative, m.NaN(), x, "log.nan_or_inf");
  Value* before_infinity = b.CreateSub(m.Bits(m.Infinity(), "log.inf"), m.KBits(1), "log.before_inf");
  Value* rank = b.CreateSub(m.Bits(x, "log.x_bits"), m.KBits(1), "log.rank");
  Value* is_finite = b.CreateICmpULT(rank, before_infinity, "log.is_finite");
  Value* result = b.CreateSelect(is_finite, finite, special, "log.of_nonzero");
  return b.CreateSelect(is_zero, minus_infinity, result, "log");  // last: runs may take denormals for zero
}

}  // namespace tailor::math
