// Transcendental functions as polynomials in IR, for f32 and f64 alike, at any lane count. They call
// nothing, trap on nothing, and give the same bits for a value in whichever lane it stands.
//
// Largest error over the tested inputs (tests/codegen/math/functions_test.cc asserts the bounds), in
// units in the last place, subnormal results included:
//             f32   f64
//   Exp       1.1   1.1
//   Log       0.9   0.9
//   Tanh      1.4   2.5
//   Erf       1.11  1.3
//   Sigmoid   2     2
//   Pow       0.51  1.5
//   Sin, Cos  0.52  1.0   for every finite argument: beyond 2^20 after Payne and Hanek
//   Tan       0.52  2.5
//   Asin      1.6   1.6
//   Acos      1.5   1.5
//   Atan      1.9   1.9
// Rem is exact, and Mod rounds once where it adds the divisor.
// They follow C99's special values: exp(-inf) = 0, log(0) = -inf, log(-1) = NaN, pow(1, NaN) = 1,
// pow(NaN, 0) = 1, pow(-0, -1) = -inf, and so on.
#ifndef TAILOR_CODEGEN_MATH_FUNCTIONS_H_
#define TAILOR_CODEGEN_MATH_FUNCTIONS_H_

#include "codegen/math/lanes.h"

namespace tailor::math {

llvm::Value* Exp(const LaneMath& m, llvm::Value* x);
llvm::Value* Log(const LaneMath& m, llvm::Value* x);
llvm::Value* Tanh(const LaneMath& m, llvm::Value* x);
llvm::Value* Erf(const LaneMath& m, llvm::Value* x);
llvm::Value* Sigmoid(const LaneMath& m, llvm::Value* x);
llvm::Value* Pow(const LaneMath& m, llvm::Value* base, llvm::Value* exponent);
llvm::Value* Sin(const LaneMath& m, llvm::Value* x);
llvm::Value* Cos(const LaneMath& m, llvm::Value* x);
llvm::Value* Tan(const LaneMath& m, llvm::Value* x);
llvm::Value* Asin(const LaneMath& m, llvm::Value* x);
llvm::Value* Acos(const LaneMath& m, llvm::Value* x);
llvm::Value* Atan(const LaneMath& m, llvm::Value* x);
// x - n y with n the whole part of x / y: the sign of x (C's fmod). NaN for y = 0 and infinite x. Its time grows with
// the distance between the exponents of x and y.
llvm::Value* Rem(const LaneMath& m, llvm::Value* x, llvm::Value* y);
// Rem, moved by y where its sign is not that of y.
llvm::Value* Mod(const LaneMath& m, llvm::Value* x, llvm::Value* y);

// Exp of an x that was rounded itself, as a difference of others: up to |x| 2^-28 off besides, which is an eighth of
// what that rounding may leave. Requires m.avx512() and f32.
llvm::Value* ExpOfDifference(const LaneMath& m, llvm::Value* x);

// x Phi(x), with Phi the normal distribution, and x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2, both as max(x, 0)
// - |x| Q(|x|): within 2 ulp for x >= -1, and everywhere within 2^-23 |x|, which is what the formulas leave where their
// sums cancel. NaN for -inf, as by the formulas; the sign may be lost where the result is zero. Require m.avx512() and
// f32.
llvm::Value* GeluErf(const LaneMath& m, llvm::Value* x);
llvm::Value* GeluTanh(const LaneMath& m, llvm::Value* x);

// x / divisor, a scalar, by its reciprocal, which a loop computes once, and one correction (Markstein): the bits of a
// division, except that subnormal results, and those of |x| < 2^-100 (f64: 2^-900), may be 2 ulp off. Requires m.fma().
llvm::Value* DivideAll(const LaneMath& m, llvm::Value* x, llvm::Value* divisor);

// exp(x) = (1 + fraction) * 2^exponent with |fraction| < 0.42, `exponent` an integer of the float's
// width. Right where exp(x) neither overflows nor is subnormal by more than 2^-30.
struct ExpParts {
  llvm::Value* fraction;
  llvm::Value* exponent;
};
ExpParts SplitExp(const LaneMath& m, llvm::Value* x);

// exp(x) for x whose result is a normal number; elsewhere, NaN included, the result is arbitrary.
llvm::Value* NormalExp(const LaneMath& m, llvm::Value* x, const llvm::Twine& name);

// x = mantissa * 2^exponent for x > 0 and normal: mantissa in [sqrt(1/2), sqrt(2)).
struct BinaryParts {
  llvm::Value* mantissa;
  llvm::Value* exponent;  // an integer of the float's width
};
BinaryParts SplitBinary(const LaneMath& m, llvm::Value* x);

}  // namespace tailor::math

#endif  // TAILOR_CODEGEN_MATH_FUNCTIONS_H_
