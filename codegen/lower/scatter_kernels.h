// A scatter group as two kernels on one output, and copying by itself.
#ifndef TAILOR_CODEGEN_LOWER_SCATTER_KERNELS_H_
#define TAILOR_CODEGEN_LOWER_SCATTER_KERNELS_H_

#include <vector>

#include "codegen/lower/value_lowering.h"

namespace tailor::lower {

// The first copies the operand. The second applies the updates: parallel over the dims that one update covers, in
// order over those that number them, so that the last of several updates of an element wins and sums have one order.
// Without the first where the output is the operand's memory, `in_place`.
std::vector<ValueLowering> ScatterKernels(const Graph& graph, const ShapeFacts& facts, const FusionGroup& group,
                                          bool in_place);

// Copies `from` to intermediate number `packed` of the group, which has no nodes.
ValueLowering CopyKernel(const Graph& graph, const ShapeFacts& facts, const FusionGroup& nothing, Value from,
                         int packed);

}  // namespace tailor::lower

#endif  // TAILOR_CODEGEN_LOWER_SCATTER_KERNELS_H_
