// Views through which a matmul reads its lhs in place: each index into memory must be a part that depends on the
// matmul's rows plus a part that depends on the depth (K). Kernels read these through offset tables
// (codegen/cpu/gemm/lhs_operand.h). The windows of a convolution are such views.
#ifndef TAILOR_FUSION_LHS_VIEWS_H_
#define TAILOR_FUSION_LHS_VIEWS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "fusion/fusion_context.h"

namespace tailor {

// The quantities that the index of a dim depends on, as a bit set.
enum Dependence : uint8_t { kOnNothing = 0, kOnBatch = 1, kOnRows = 2, kOnDepth = 4 };
using Dependences = std::vector<uint8_t>;  // per dim

// The dependences of the dims of a matmul's lhs.
Dependences OfLhs(const Graph& graph, NodeId matmul);
// The dependences of the dims of view `id`'s operand, given those of its result, `of`. nullopt if some index is no such
// sum.
std::optional<Dependences> ThroughView(const FusionContext& context, NodeId id, const Dependences& of);

// The padding node in `core` (ascending) that only `matmul` reads, through floating views as above; -1: none. The
// matmul's kernel computes the padding per task.
NodeId PaddingOfLhs(const FusionContext& context, const Uses& uses, const std::vector<NodeId>& core, NodeId matmul);

}  // namespace tailor

#endif  // TAILOR_FUSION_LHS_VIEWS_H_
