// Unevaluated sums of two doubles, for the few steps of math functions that one double is too short for.
#ifndef TAILOR_CODEGEN_MATH_PAIRS_H_
#define TAILOR_CODEGEN_MATH_PAIRS_H_

#include "codegen/math/lanes.h"

namespace tailor::math {

// |lo| is at most half a unit in the last place of hi.
struct Pair {
  llvm::Value* hi;
  llvm::Value* lo;
};

// x + y exactly, where |x| >= |y| or x is zero.
Pair FastSum(const LaneMath& m, llvm::Value* x, llvm::Value* y, const llvm::Twine& name);
// x + y exactly.
Pair ExactSum(const LaneMath& m, llvm::Value* x, llvm::Value* y, const llvm::Twine& name);
// x * y exactly.
Pair Product(const LaneMath& m, llvm::Value* x, llvm::Value* y, const llvm::Twine& name);
// x * y to about 2^-100.
Pair Product(const LaneMath& m, Pair x, Pair y, const llvm::Twine& name);
// x + y where |x.hi| >= |y.hi| or x is zero.
Pair Sum(const LaneMath& m, Pair x, Pair y, const llvm::Twine& name);

}  // namespace tailor::math

#endif  // TAILOR_CODEGEN_MATH_PAIRS_H_
