// Double-double arithmetic: unevaluated sums of two doubles, for the steps of math functions that need more than one.
#ifndef TAILOR_CODEGEN_MATH_PAIRS_H_
#define TAILOR_CODEGEN_MATH_PAIRS_H_

#include "codegen/math/lanes.h"

namespace tailor::math {

// |lo| is at most half a unit in the last place of hi.
struct Pair {
  llvm::Value* hi;
  llvm::Value* lo;
};

// x + y exactly. Requires |x| >= |y| or x = 0.
Pair FastSum(const LaneMath& m, llvm::Value* x, llvm::Value* y, const llvm::Twine& name);
// x + y exactly.
Pair ExactSum(const LaneMath& m, llvm::Value* x, llvm::Value* y, const llvm::Twine& name);
// x * y exactly.
Pair Product(const LaneMath& m, llvm::Value* x, llvm::Value* y, const llvm::Twine& name);
// x * y, relative error about 2^-100.
Pair Product(const LaneMath& m, Pair x, Pair y, const llvm::Twine& name);
// x + y. Requires |x.hi| >= |y.hi| or x = 0.
Pair Sum(const LaneMath& m, Pair x, Pair y, const llvm::Twine& name);

}  // namespace tailor::math

#endif  // TAILOR_CODEGEN_MATH_PAIRS_H_
