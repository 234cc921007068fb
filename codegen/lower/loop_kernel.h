// Lowers a loop group to one kernel.
#ifndef TAILOR_CODEGEN_LOWER_LOOP_KERNEL_H_
#define TAILOR_CODEGEN_LOWER_LOOP_KERNEL_H_

#include "codegen/lower/value_lowering.h"

namespace tailor::lower {

// All axes are parallel: the dims of the outputs. Where the group ends with reshapes that only merge dims (a tiled
// tensor, merged heads), the axes are the dims before them: indices then need no quotients and remainders.
ValueLowering LoopKernel(const Graph& graph, const ShapeFacts& facts, const FusionGroup& group);

}  // namespace tailor::lower

#endif  // TAILOR_CODEGEN_LOWER_LOOP_KERNEL_H_
