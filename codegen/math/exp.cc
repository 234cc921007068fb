#include <array>
#include <bit>
#include <cstdint>

#include "codegen/math/avx512.h"
#include "codegen/math/functions.h"
#include "codegen/math/registers.h"

namespace tailor::math {
namespace {

using llvm::Value;

// exp(r) = 1 + r + r^2 P(r) on |r| <= ln2 / 2.
struct ExpConstants {
  double round_magic;      // adding it leaves the nearest integer in the low mantissa bits
  double ln2_hi, ln2_lo;   // n * ln2_hi is exact for every n in range
  double underflow;        // below it exp(x) rounds to zero
  double overflow;         // the greatest x with a finite exp(x)
  int64_t least_exponent;  // below it, 2^n (1 + fraction) may be subnormal
  llvm::ArrayRef<double> polynomial;
};

constexpr double kLog2E = 1.44269504088896340736, kLn2 = 0.69314718055994530942;
constexpr double kPolynomialF32[] = {0.0013814473059028387, 0.008368796668946743, 0.041668396443128586,
                                     0.1666651964187622, 0.4999999403953552};
constexpr double kPolynomialF64[] = {2.120945104887957e-09,
                                     2.5101932474550788e-08,
                                     2.755647081319701e-07,
                                     2.7557263343519407e-06,
                                     2.4801588071476208e-05,
                                     0.00019841269868836695,
                                     0.0013888888888604315,
                                     0.00833333333332765,
                                     0.04166666666666705,
                                     0.1666666666666667,
                                     0.5};

const ExpConstants kF32{12582912.0, 0.693359375, -2.12194440e-4, -104.0, 88.72283172607422, -125, kPolynomialF32};
const ExpConstants kF64{
    6755399441055744.0, 0.693147180369123816490, 1.90821492927058770002e-10, -746.0, 709.782712893383973096, -1021,
    kPolynomialF64};

const ExpConstants& ConstantsOf(const LaneMath& m) { return m.is_double() ? kF64 : kF32; }

// Exponents below the least are raised by this before they enter the exponent field; a multiplication then scales the
// result back and rounds it to a subnormal.
constexpr int64_t kRaise = 64;
constexpr double kLower = 0x1p-64;

constexpr double kTanhSmall = 0.625;
constexpr double kTanhPolynomialF32[] = {-0.005705063696950674, 0.0206392053514719, -0.053739771246910095,
                                         0.13331443071365356, -0.3333328068256378};

// Subtraction of n ln2 from x: one multiply-add leaves n times the rounding error of ln2 (in f32 |x| 2^-28), two do
// not.
enum class Steps { kOne, kTwo };

// x = n ln2 + r with integer n, or a multiple of 2^-k for a `magic` that is 2^k times smaller. r is accurate where n *
// ln2_hi is exact.
struct Reduced {
  Value* shifted;  // n + magic
  Value* n;
  Value* r;
};

Reduced ReduceExp(const LaneMath& m, Value* x, double round_magic, Steps steps = Steps::kTwo) {
  auto& b = m.builder();
  const ExpConstants& c = ConstantsOf(m);
  Value* magic = m.K(round_magic);
  Value* shifted = m.MulAdd(x, m.K(kLog2E), magic, "exp.shifted");
  Value* n = b.CreateFSub(shifted, magic, "exp.n");
  if (steps == Steps::kOne) return {shifted, n, m.MulAdd(n, m.K(-kLn2), x, "exp.r")};
  Value* r = m.MulAdd(n, m.K(-c.ln2_hi), x, "exp.r_hi");
  return {shifted, n, m.MulAdd(n, m.K(-c.ln2_lo), r, "exp.r")};
}

// For every x. Beyond the range of ReduceExp, n makes the result 0, infinite or NaN, as long as the mantissa (elsewhere
// in [2^-0.5, 2]) is a normal number.
Value* ScaledExp(const LaneMath& m, Value* x) {
  const Reduced parts = ReduceExp(m, x, ConstantsOf(m).round_magic);
  llvm::SmallVector<double> polynomial(ConstantsOf(m).polynomial);
  polynomial.append({1.0, 1.0});
  Value* mantissa = NearOne(m, m.Horner(parts.r, polynomial, "exp.poly"), "exp.mantissa");
  return ScaleByPower(m, mantissa, parts.n, "exp");
}

// exp(x) = 2^(k / 16) exp(r), |r| <= ln2 / 32, with exp(r) = 1 + r + r^2 (a + b r) and a table of the fractional
// powers. The low bits of k / 16 + kSixteenthMagic are those of k.
constexpr double kSixteenthMagic = 0x1.8p+19;
constexpr double kShortPolynomial[] = {0.16666844487190247, 0.5000162720680237, 1.0};
constexpr float kSixteenthPowers[] = {1.0f,       1.0442737f, 1.0905077f, 1.1387886f, 1.1892071f, 1.2418578f,
                                      1.2968396f, 1.3542556f, 1.4142135f, 1.4768262f, 1.5422108f, 1.6104903f,
                                      1.6817929f, 1.7562522f, 1.8340081f, 1.9152066f};

// Same contract as ScaledExp.
Value* TabulatedExp(const LaneMath& m, Value* x, Steps steps) {
  auto& b = m.builder();
  const Reduced parts = ReduceExp(m, x, kSixteenthMagic, steps);
  Value* power = LookUp(m, kSixteenthPowers, m.Bits(parts.shifted, "exp.index"), "exp.sixteenth");
  Value* rest = m.Horner(parts.r, kShortPolynomial, "exp.poly");
  Value* sum = m.MulAdd(b.CreateFMul(power, parts.r, "exp.step"), rest, power, "exp.sum");
  return ScaleByPower(m, NearOne(m, sum, "exp.mantissa"), parts.n, "exp");
}

// exp(x) = 2^(k / 4) exp(r), |r| <= ln2 / 8, with exp(r) = 1 + r + r^2 (a + b r + c r^2). With k = 8 i + j, 2^(k / 4)
// is T[j] 2^i 2^i: two factors of which neither overflows, so that the second one alone rounds, where the result is
// subnormal or infinite. The low bits of k / 4 + kQuarterMagic are 8 times the biased exponent i + 127, plus j: shifted
// to kEighthField, they are 2^i but for j in the mantissa.
constexpr double kQuarterMagic = 0x1.8p+21 + 127 * 2;
constexpr double kQuarterPolynomial[] = {0.04168253391981125, 0.16672104597091675, 0.4999999701976776, 1.0};
constexpr int kEighthField = 20;

// Added to the shifted bits: T[j] without the bits of 1 and of j.
constexpr std::array<float, 8> QuarterPowers() {
  constexpr float kPowers[] = {1.0f, 1.1892071f, 1.4142135f, 1.6817929f, 2.0f, 2.3784142f, 2.828427f, 3.3635857f};
  std::array<float, 8> table;
  for (uint32_t j = 0; j < 8; ++j) {
    table[j] =
        std::bit_cast<float>(std::bit_cast<uint32_t>(kPowers[j]) - std::bit_cast<uint32_t>(1.0f) - (j << kEighthField));
  }
  return table;
}

// Whether BoundedExp is the fastest exponential.
bool TakesBoundedExp(const LaneMath& m) { return m.avx2() && !m.avx512() && !m.is_double(); }

// For NaN and x from kF32.underflow to 89. f32; requires m.avx2().
Value* BoundedExp(const LaneMath& m, Value* bounded, Steps steps) {
  static constexpr std::array<float, 8> kTable = QuarterPowers();
  auto& b = m.builder();
  const Reduced parts = ReduceExp(m, bounded, kQuarterMagic, steps);
  Value* index = m.Bits(parts.shifted, "exp.index");
  Value* field = b.CreateShl(index, m.KBits(kEighthField), "exp.field");
  Value* entry = m.Bits(LookUp(m, kTable, index, "exp.quarter"), "exp.quarter_bits");
  Value* power = m.FromBits(b.CreateAdd(entry, field, "exp.power_bits"), "exp.power");
  Value* scale = m.FromBits(b.CreateAnd(field, m.KBits(0x7f800000), "exp.scale_bits"), "exp.scale");
  Value* rest = m.Horner(parts.r, kQuarterPolynomial, "exp.poly");
  Value* sum = m.MulAdd(b.CreateFMul(power, parts.r, "exp.step"), rest, power, "exp.sum");
  return b.CreateFMul(sum, scale, "exp");
}

// For every x. f32; requires m.avx2().
Value* QuarteredExp(const LaneMath& m, Value* x, Steps steps) {
  return BoundedExp(m, m.AtMost(m.AtLeast(x, kF32.underflow, "exp.at_least"), 89.0, "exp.bounded"), steps);
}

// tanh(x) = x + x^3 P(x^2) near zero, else 1 - 2 / (exp(2|x|) + 1) with x's sign.
Value* TanhF32(const LaneMath& m, Value* x) {
  auto& b = m.builder();
  Value* magnitude = m.Abs(x, "tanh.magnitude");
  Value* square = b.CreateFMul(x, x, "tanh.square");
  Value* cube = b.CreateFMul(square, x, "tanh.cube");
  Value* small = m.MulAdd(m.Horner(square, kTanhPolynomialF32, "tanh.poly"), cube, x, "tanh.small");
  Value* bounded = m.AtMost(magnitude, 10.0, "tanh.bounded");
  Value* power = NormalExp(m, b.CreateFAdd(bounded, bounded, "tanh.twice"), "tanh.exp");
  Value* quotient = b.CreateFDiv(m.K(2.0), b.CreateFAdd(power, m.K(1.0), "tanh.divisor"), "tanh.quotient");
  Value* large = b.CreateFSub(m.K(1.0), quotient, "tanh.large");
  // Unordered or less: NaN takes the polynomial, which keeps it.
  Value* is_small = b.CreateFCmpULT(magnitude, m.K(kTanhSmall), "tanh.is_small");
  return m.CopySign(b.CreateSelect(is_small, small, large, "tanh.either"), x, "tanh");
}

// tanh(x) = t / (t + 2) with t = exp(2|x|) - 1 and x's sign.
Value* TanhF64(const LaneMath& m, Value* x) {
  auto& b = m.builder();
  Value* bounded = m.AtMost(m.Abs(x, "tanh.magnitude"), 22.0, "tanh.bounded");
  ExpParts parts = SplitExp(m, b.CreateFAdd(bounded, bounded, "tanh.twice"));
  Value* power = m.AddExponent(m.K(1.0), parts.exponent, "tanh.power");
  Value* rest = b.CreateFSub(power, m.K(1.0), "tanh.power_less_one");
  Value* t = m.MulAdd(parts.fraction, power, rest, "tanh.expm1");
  Value* quotient = b.CreateFDiv(t, b.CreateFAdd(t, m.K(2.0), "tanh.divisor"), "tanh.quotient");
  Value* is_nan = b.CreateFCmpUNO(x, x, "tanh.is_nan");
  return b.CreateSelect(is_nan, x, m.CopySign(quotient, x, "tanh.signed"), "tanh");
}

}  // namespace

ExpParts SplitExp(const LaneMath& m, Value* x) {
  auto& b = m.builder();
  const ExpConstants& c = ConstantsOf(m);
  const auto [shifted, n, r] = ReduceExp(m, x, c.round_magic);
  Value* magic = m.Bits(m.K(c.round_magic), "exp.magic");
  Value* exponent = b.CreateSub(m.Bits(shifted, "exp.shifted_bits"), magic, "exp.exponent");
  Value* square = b.CreateFMul(r, r, "exp.r2");
  return {m.MulAdd(m.Horner(r, c.polynomial, "exp.poly"), square, r, "exp.fraction"), exponent};
}

Value* NormalExp(const LaneMath& m, Value* x, const llvm::Twine& name) {
  if (TakesBoundedExp(m)) return BoundedExp(m, x, Steps::kTwo);
  ExpParts parts = SplitExp(m, x);
  Value* mantissa = m.builder().CreateFAdd(parts.fraction, m.K(1.0), name + ".mantissa");
  return m.AddExponent(mantissa, parts.exponent, name);
}

namespace {

// For every x, without a table.
Value* PolynomialExp(const LaneMath& m, Value* x) {
  auto& b = m.builder();
  const ExpConstants& c = ConstantsOf(m);
  ExpParts parts = SplitExp(m, m.AtLeast(x, c.underflow, "exp.bounded"));
  Value* mantissa = b.CreateFAdd(parts.fraction, m.K(1.0), "exp.mantissa");
  Value* is_tiny = b.CreateICmpSLT(parts.exponent, m.KBits(c.least_exponent), "exp.is_tiny");
  Value* raise = b.CreateSelect(is_tiny, m.KBits(kRaise), m.KBits(0), "exp.raise");
  Value* lower = b.CreateSelect(is_tiny, m.K(kLower), m.K(1.0), "exp.lower");
  Value* raised = m.AddExponent(mantissa, b.CreateAdd(parts.exponent, raise, "exp.raised_exponent"), "exp.raised");
  Value* finite = b.CreateFMul(raised, lower, "exp.finite");
  // Unordered or greater: x + inf is inf where exp overflows and NaN where x is NaN.
  Value* is_special = b.CreateFCmpUGT(x, m.K(c.overflow), "exp.is_special");
  return b.CreateSelect(is_special, b.CreateFAdd(x, m.Infinity(), "exp.special"), finite, "exp");
}

}  // namespace

Value* Exp(const LaneMath& m, Value* x) {
  if (m.avx512()) return m.is_double() ? ScaledExp(m, x) : TabulatedExp(m, x, Steps::kTwo);
  return m.avx2() && !m.is_double() ? QuarteredExp(m, x, Steps::kTwo) : PolynomialExp(m, x);
}

Value* ExpOfDifference(const LaneMath& m, Value* x) {
  return m.avx512() ? TabulatedExp(m, x, Steps::kOne) : QuarteredExp(m, x, Steps::kOne);
}

Value* Tanh(const LaneMath& m, Value* x) { return m.is_double() ? TanhF64(m, x) : TanhF32(m, x); }

// e = exp(-|x|), which cannot overflow. The result is 1 / (1 + e) for x >= 0, else e / (1 + e). The rounding error
// `lost` of d = 1 + e is corrected: q / (1 + lost / d) is about q - q lost / d, and 1 / d is q or 1 - q. Not beside
// BoundedExp: the correction would take a quarter of the time, for 0.3 ulp.
Value* Sigmoid(const LaneMath& m, Value* x) {
  auto& b = m.builder();
  Value* power = b.CreateFNeg(m.Abs(x, "sigmoid.magnitude"), "sigmoid.negative");
  Value* e = TakesBoundedExp(m) ? BoundedExp(m, m.AtLeast(power, kF32.underflow, "sigmoid.bounded"), Steps::kTwo)
             : m.avx512()       ? ScaledExp(m, power)
                                : PolynomialExp(m, power);
  Value* is_negative = b.CreateICmpSLT(m.Bits(x, "sigmoid.bits"), m.KBits(0), "sigmoid.is_negative");
  Value* numerator = b.CreateSelect(is_negative, e, m.K(1.0), "sigmoid.numerator");
  Value* divisor = b.CreateFAdd(e, m.K(1.0), "sigmoid.divisor");
  Value* lost = b.CreateFSub(e, b.CreateFSub(divisor, m.K(1.0), "sigmoid.taken"), "sigmoid.lost");
  Value* quotient = b.CreateFDiv(numerator, divisor, "sigmoid.quotient");
  if (TakesBoundedExp(m)) return quotient;
  Value* other = b.CreateFSub(m.K(1.0), quotient, "sigmoid.other");
  Value* inverse = b.CreateSelect(is_negative, other, quotient, "sigmoid.inverse");
  Value* share = b.CreateFNeg(b.CreateFMul(lost, inverse, "sigmoid.share"), "sigmoid.minus_share");
  return m.MulAdd(quotient, share, quotient, "sigmoid");
}

}  // namespace tailor::math
