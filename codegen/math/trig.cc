#include "codegen/math/functions.h"
#include "codegen/math/trig_reduce.h"

namespace tailor::math {
namespace {

using llvm::Value;

// For |r| <= pi/4 and z = r^2: sin(r) = r + r z S(z), cos(r) = 1 - z/2 + z^2 C(z). f32 uses the short ones, in f64.
constexpr double kSinF32[] = {2.7249864658196823e-06, -0.00019840086263779024, 0.008333331873837132,
                              -0.16666666663853044};
constexpr double kCosF32[] = {2.4547891622336995e-05, -0.001388830280232084, 0.04166666465830048};
constexpr double kSinF64[] = {1.591810123167728e-10,  -2.5051131455447428e-08, 2.755731610068312e-06,
                              -0.0001984126983675497, 0.008333333333330946,    -0.16666666666666666};
constexpr double kCosF64[] = {-1.1382614869434128e-11, 2.087614602470193e-09,  -2.7557317270560385e-07,
                              2.4801587298763433e-05,  -0.0013888888888887395, 0.041666666666666664};

struct SinCos {
  Value* sin;
  Value* cos;
  Value* quadrant;
};

// Sine and cosine of the remainder of x after whole quarter turns, and their number modulo 4. `m` is f64.
SinCos SinCosOfRemainder(const LaneMath& m, Value* x, bool single) {
  auto& b = m.builder();
  QuarterTurns turns = ReduceQuarterTurns(m, x, single);
  auto [r, low] = turns.rest;
  Value* z = b.CreateFMul(r, r, "trig.z");
  Value* half_z = b.CreateFMul(z, m.K(0.5), "trig.half_z");
  Value* s = m.Horner(z, single ? llvm::ArrayRef<double>(kSinF32) : kSinF64, "trig.sin_poly");
  Value* c = m.Horner(z, single ? llvm::ArrayRef<double>(kCosF32) : kCosF64, "trig.cos_poly");
  Value* whole = b.CreateFSub(m.K(1.0), half_z, "trig.whole");
  // sin(r + low) is about sin(r) + low cos(r), cos(r + low) about cos(r) - low r.
  Value* sin_tail = m.MulAdd(b.CreateFMul(r, z, "trig.r3"), s, b.CreateFMul(low, whole, "trig.low_cos"), "trig.tail");
  Value* lost = b.CreateFSub(b.CreateFSub(m.K(1.0), whole, "trig.taken"), half_z, "trig.lost");
  Value* cos_tail = m.MulAdd(b.CreateFMul(z, z, "trig.z2"), c, lost, "trig.z2_poly");
  cos_tail = b.CreateFSub(cos_tail, b.CreateFMul(r, low, "trig.r_low"), "trig.cos_tail");
  return {b.CreateFAdd(r, sin_tail, "trig.sin"), b.CreateFAdd(whole, cos_tail, "trig.cos"), turns.quadrant};
}

// sin(x + ahead * pi/2).
Value* Sine(const LaneMath& m, Value* x, bool single, int ahead) {
  auto& b = m.builder();
  SinCos of = SinCosOfRemainder(m, x, single);
  Value* quadrant = b.CreateAdd(of.quadrant, m.KBits(ahead), "trig.quadrant");
  Value* is_odd = b.CreateICmpNE(b.CreateAnd(quadrant, m.KBits(1)), m.KBits(0), "trig.is_odd");
  Value* is_second_half = b.CreateICmpNE(b.CreateAnd(quadrant, m.KBits(2)), m.KBits(0), "trig.is_second_half");
  Value* either = b.CreateSelect(is_odd, of.cos, of.sin, "trig.either");
  return b.CreateSelect(is_second_half, b.CreateFNeg(either, "trig.minus"), either, "trig.signed");
}

Value* Tangent(const LaneMath& m, Value* x, bool single) {
  auto& b = m.builder();
  SinCos of = SinCosOfRemainder(m, x, single);
  Value* is_odd = b.CreateICmpNE(b.CreateAnd(of.quadrant, m.KBits(1)), m.KBits(0), "tan.is_odd");
  Value* numerator = b.CreateSelect(is_odd, b.CreateFNeg(of.cos, "tan.minus_cos"), of.sin, "tan.numerator");
  return b.CreateFDiv(numerator, b.CreateSelect(is_odd, of.sin, of.cos, "tan.divisor"), "tan.quotient");
}

// Runs `f(f64 lanes, x, single)` in double precision.
template <typename Function>
Value* InDouble(const LaneMath& m, Value* x, Function f) {
  auto& b = m.builder();
  if (m.is_double()) return f(m, x, false);
  LaneMath d = m.Widened();
  return b.CreateFPTrunc(f(d, b.CreateFPExt(x, d.type(), "trig.wide"), true), m.type(), "trig.narrow");
}

// Odd functions with f(x) = x at zero keep the sign of zero.
Value* KeepZero(const LaneMath& m, Value* x, Value* result, const llvm::Twine& name) {
  auto& b = m.builder();
  return b.CreateSelect(b.CreateFCmpOEQ(x, m.K(0.0), name + ".is_zero"), x, result, name);
}

}  // namespace

Value* Sin(const LaneMath& m, Value* x) {
  auto sine = [](const LaneMath& d, Value* wide, bool single) { return Sine(d, wide, single, 0); };
  return KeepZero(m, x, InDouble(m, x, sine), "sin");
}

Value* Cos(const LaneMath& m, Value* x) {
  return InDouble(m, x, [](const LaneMath& d, Value* wide, bool single) { return Sine(d, wide, single, 1); });
}

Value* Tan(const LaneMath& m, Value* x) { return KeepZero(m, x, InDouble(m, x, Tangent), "tan"); }

}  // namespace tailor::math
