// Divides lanes of indices by one divisor. CPUs have no vector division of 64-bit integers: LLVM would divide each lane
// separately.
#ifndef TAILOR_CODEGEN_SCALAR_LANE_DIVISION_H_
#define TAILOR_CODEGEN_SCALAR_LANE_DIVISION_H_

#include "llvm/IR/IRBuilder.h"

namespace tailor {

struct DividedLanes {
  llvm::Value* quotient;
  llvm::Value* rest;
};

// x / divisor and x % divisor. x: i64 lanes, 0 <= x < 2^50 (addresses have 48 bits); divisor: i64, 1 <= divisor < 2^50.
// Lanes out of range (indices that are not used) get arbitrary values.
DividedLanes DivideLanes(llvm::IRBuilderBase& b, llvm::Value* x, llvm::Value* divisor);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_SCALAR_LANE_DIVISION_H_
