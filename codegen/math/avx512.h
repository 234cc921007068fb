// AVX-512 instructions for math functions that LLVM has no generic name for. Each works on whole registers
// (codegen/math/registers.h).
#ifndef TAILOR_CODEGEN_MATH_AVX512_H_
#define TAILOR_CODEGEN_MATH_AVX512_H_

#include "codegen/math/lanes.h"

namespace tailor::math {

// x * 2^floor(exponent), rounded once, including subnormal, zero and infinite results; NaN if `exponent` is (vscalef).
llvm::Value* ScaleByPower(const LaneMath& m, llvm::Value* x, llvm::Value* exponent, const llvm::Twine& name);

// x if 0.5 <= x < 2; for other x and NaN, some number in that range (vpternlog).
llvm::Value* NearOne(const LaneMath& m, llvm::Value* x, const llvm::Twine& name);
// min(|x|, bound); `bound` for NaN (vrange). Requires bound > 0.
llvm::Value* BoundedMagnitude(const LaneMath& m, llvm::Value* x, double bound, const llvm::Twine& name);

// x minus the nearest multiple of 2^-bits, ties to even (vreduce). Requires 0 <= bits < 16.
llvm::Value* ReduceFraction(const LaneMath& m, llvm::Value* x, int bits, const llvm::Twine& name);

// `other` if it is zero, infinite or NaN, else `x` (vfixupimm).
llvm::Value* UnlessSpecial(const LaneMath& m, llvm::Value* x, llvm::Value* other, const llvm::Twine& name);

// x if it is NaN or >= 0, NaN for -inf, else zero (vfixupimm).
llvm::Value* PositivePart(const LaneMath& m, llvm::Value* x, const llvm::Twine& name);

}  // namespace tailor::math

#endif  // TAILOR_CODEGEN_MATH_AVX512_H_
