// Transcendental functions as polynomials in IR, for f32 and f64, at any lane count. They call nothing, do not trap,
// and give the same bits for a value in any lane.
//
// Largest error in units in the last place (ulp) over the tested inputs, subnormal results included
// (tests/codegen/math/functions_test.cc asserts the bounds):
//             f32   f64
//   Exp       1.1   1.1
//   Log       0.9   0.9
//   Tanh      1.45  2.5
//   Erf       1.25  1.3
//   Sigmoid   2.7   2
//   Pow       0.51  1.5
//   Sin, Cos  0.52  1.0   for every finite argument: beyond 2^20 after Payne and Hanek
//   Tan       0.52  2.5
//   Asin      1.6   1.6
//   Acos      1.5   1.5
//   Atan      1.9   1.9
// Rem is exact, and Mod rounds once where it adds the divisor.
// Special values are those of C99: exp(-inf) = 0, log(0) = -inf, log(-1) = NaN, pow(1, NaN) = 1,
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
// x - n y with n = trunc(x / y); the sign is that of x (C's fmod). NaN for y = 0 and infinite x. Time grows with the
// difference of the exponents of x and y.
llvm::Value* Rem(const LaneMath& m, llvm::Value* x, llvm::Value* y);
// Rem plus y if its sign differs from that of y.
llvm::Value* Mod(const LaneMath& m, llvm::Value* x, llvm::Value* y);

// Exp of a rounded difference x: adds an error of up to |x| 2^-28, an eighth of the error that the rounding of x may
// cause. Requires m.avx2() and f32.
llvm::Value* ExpOfDifference(const LaneMath& m, llvm::Value* x);

// Erf in f32 for results that are rounded to f16 or bf16: within 2^-19 of itself, one polynomial in x^2.
llvm::Value* ErfOfNarrow(const LaneMath& m, llvm::Value* x);

// x Phi(x), with Phi the normal distribution function, and x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2. Both are
// computed as max(x, 0) - |x| Q(|x|): within 2 ulp for x >= -1, and everywhere within 2^-23 |x|, the error of the
// formulas where their sums cancel. NaN for -inf, as by the formulas; a zero result may lose its sign. Require m.avx2()
// and f32.
llvm::Value* GeluErf(const LaneMath& m, llvm::Value* x);
llvm::Value* GeluTanh(const LaneMath& m, llvm::Value* x);

// x / divisor, for a scalar divisor, by its reciprocal (once per loop) and one correction (Markstein). Same bits as a
// division, except that subnormal results, and results for |x| < 2^-100 (f64: 2^-900), may be 2 ulp off. Requires
// m.fma().
llvm::Value* DivideAll(const LaneMath& m, llvm::Value* x, llvm::Value* divisor);

// exp(x) = (1 + fraction) * 2^exponent with |fraction| < 0.42; `exponent` is an integer of the float's width. Accurate
// where exp(x) does not overflow and is at least 2^-30 times the least normal number.
struct ExpParts {
  llvm::Value* fraction;
  llvm::Value* exponent;
};
ExpParts SplitExp(const LaneMath& m, llvm::Value* x);

// exp(x) if the result is a normal number; otherwise, and for NaN, arbitrary.
llvm::Value* NormalExp(const LaneMath& m, llvm::Value* x, const llvm::Twine& name);

// x = mantissa * 2^exponent for x > 0 and normal: mantissa in [sqrt(1/2), sqrt(2)).
struct BinaryParts {
  llvm::Value* mantissa;
  llvm::Value* exponent;  // an integer of the float's width
};
BinaryParts SplitBinary(const LaneMath& m, llvm::Value* x);

}  // namespace tailor::math

#endif  // TAILOR_CODEGEN_MATH_FUNCTIONS_H_
