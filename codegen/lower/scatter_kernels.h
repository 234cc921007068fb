// Lowers a scatter group to two kernels on one output; also lowers plain copies.
#ifndef TAILOR_CODEGEN_LOWER_SCATTER_KERNELS_H_
#define TAILOR_CODEGEN_LOWER_SCATTER_KERNELS_H_

#include <vector>

#include "codegen/lower/value_lowering.h"

namespace tailor::lower {

// The first kernel copies the operand; it is omitted with `in_place`, where the output aliases the operand. The second
// applies the updates: parallel over the dims of one update, ordered over the dims that number the updates. So the last
// update of an element wins, and sums have one order.
std::vector<ValueLowering> ScatterKernels(const Graph& graph, const ShapeFacts& facts, const FusionGroup& group,
                                          bool in_place);

// A kernel that copies `from` to intermediate number `packed`; group `nothing` has no nodes.
ValueLowering CopyKernel(const Graph& graph, const ShapeFacts& facts, const FusionGroup& nothing, Value from,
                         int packed);

}  // namespace tailor::lower

#endif  // TAILOR_CODEGEN_LOWER_SCATTER_KERNELS_H_
