// The instructions of AVX-512 that math functions gain from and that LLVM has no name of its own for. Each takes whole
// registers: fewer lanes are widened to one, more fill several, so that a value has the same bits at every lane count.
#ifndef TAILOR_CODEGEN_MATH_AVX512_H_
#define TAILOR_CODEGEN_MATH_AVX512_H_

#include "codegen/math/lanes.h"

namespace tailor::math {

// x * 2^floor(exponent), rounded once: subnormal, zero and infinite where it must be, NaN where `exponent` is
// (vscalef).
llvm::Value* ScaleByPower(const LaneMath& m, llvm::Value* x, llvm::Value* exponent, const llvm::Twine& name);

// x where 0.5 <= x < 2, else, and for NaN, some such number (vpternlog).
llvm::Value* NearOne(const LaneMath& m, llvm::Value* x, const llvm::Twine& name);
// |x| where it is at most `bound`, else, and for NaN, `bound` (vrange). Requires bound > 0.
llvm::Value* BoundedMagnitude(const LaneMath& m, llvm::Value* x, double bound, const llvm::Twine& name);

// x less the nearest multiple of 2^-bits, ties to even (vreduce). Requires 0 <= bits < 16.
llvm::Value* RestOfFraction(const LaneMath& m, llvm::Value* x, int bits, const llvm::Twine& name);

// `x`, but `other` where `other` is zero, infinite or NaN (vfixupimm).
llvm::Value* UnlessSpecial(const LaneMath& m, llvm::Value* x, llvm::Value* other, const llvm::Twine& name);

// x where it is NaN or not below zero, else zero; NaN for -inf (vfixupimm).
llvm::Value* PositivePart(const LaneMath& m, llvm::Value* x, const llvm::Twine& name);

// table[index mod its size], of 16 or 32 f32; `index` are the bits of lanes (vpermps, vpermi2ps). Requires
// !m.is_double().
llvm::Value* LookUp(const LaneMath& m, llvm::ArrayRef<float> table, llvm::Value* index, const llvm::Twine& name);

}  // namespace tailor::math

#endif  // TAILOR_CODEGEN_MATH_AVX512_H_
