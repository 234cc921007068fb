// Division of lanes of indices by one divisor. CPUs have no vectors of 64-bit integer divisions: LLVM would divide lane
// by lane.
#ifndef TAILOR_CODEGEN_SCALAR_LANE_DIVISION_H_
#define TAILOR_CODEGEN_SCALAR_LANE_DIVISION_H_

#include "llvm/IR/IRBuilder.h"

namespace tailor {

struct DividedLanes {
  llvm::Value* quotient;
  llvm::Value* rest;
};

// x / divisor and x % divisor: lanes of i64 and an i64 >= 1, both below 2^50 (an address has 48 bits). Other lanes,
// which are those of indices that nothing reads, get any value.
DividedLanes DivideLanes(llvm::IRBuilderBase& b, llvm::Value* x, llvm::Value* divisor);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_SCALAR_LANE_DIVISION_H_
