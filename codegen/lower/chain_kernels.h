// Lowered kernels of a FusionPlan's chain become one.
#ifndef TAILOR_CODEGEN_LOWER_CHAIN_KERNELS_H_
#define TAILOR_CODEGEN_LOWER_CHAIN_KERNELS_H_

#include <vector>

#include "codegen/lower/lowered_kernel.h"

namespace tailor::lower {

// Requires: `kernels` begins with a contraction whose m axis was kept; each writes one value, which it stores row by
// row for the next alone to read. The chain has their other operands, each kernel's apart, and all their faults in
// order.
LoweredKernel ChainKernels(std::vector<LoweredKernel> kernels);

}  // namespace tailor::lower

#endif  // TAILOR_CODEGEN_LOWER_CHAIN_KERNELS_H_
