// Combines the lowered kernels of a FusionPlan's chain into one kernel.
#ifndef TAILOR_CODEGEN_LOWER_CHAIN_KERNELS_H_
#define TAILOR_CODEGEN_LOWER_CHAIN_KERNELS_H_

#include <vector>

#include "codegen/lower/lowered_kernel.h"

namespace tailor::lower {

// Requires: the first of `kernels` is a contraction whose m axis was kept; each writes one value, row by row, that only
// the next one reads. The chain has the other operands of all kernels, one buffer for each even if two kernels read the
// same value, and all faults in order.
LoweredKernel ChainKernels(std::vector<LoweredKernel> kernels);

}  // namespace tailor::lower

#endif  // TAILOR_CODEGEN_LOWER_CHAIN_KERNELS_H_
