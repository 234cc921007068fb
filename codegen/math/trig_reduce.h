// The argument reduction of sin, cos and tan, in f64, for every finite argument.
#ifndef TAILOR_CODEGEN_MATH_TRIG_REDUCE_H_
#define TAILOR_CODEGEN_MATH_TRIG_REDUCE_H_

#include "codegen/math/pairs.h"

namespace tailor::math {

// x = quadrant * pi/2 + rest, |rest| < pi/4 + 2^-20. `quadrant` is correct modulo 4 (an integer of the float's width).
// `rest` has relative error 2^-64, or 2^-35 and no low half with `single`. Infinities and NaN give NaN.
struct QuarterTurns {
  llvm::Value* quadrant;
  Pair rest;
};
QuarterTurns ReduceQuarterTurns(const LaneMath& m, llvm::Value* x, bool single);

}  // namespace tailor::math

#endif  // TAILOR_CODEGEN_MATH_TRIG_REDUCE_H_
