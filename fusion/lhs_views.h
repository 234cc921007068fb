// Views through which a matmul reads its lhs in place: those after which each index of what lies in memory
// is a part that depends on the matmul's rows plus one that depends on the depth. That is what kernels walk by tables
// (codegen/cpu/gemm/lhs_operand.h): the windows of a convolution are such views.
#ifndef TAILOR_FUSION_LHS_VIEWS_H_
#define TAILOR_FUSION_LHS_VIEWS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "fusion/fusion_context.h"

namespace tailor {

// What the index of a dim depends on: a set of bits.
enum Dependence : uint8_t { kOnNothing = 0, kOnBatch = 1, kOnRows = 2, kOnDepth = 4 };
using Dependences = std::vector<uint8_t>;  // per dim

// Of the dims of a matmul's lhs.
Dependences OfLhs(const Graph& graph, NodeId matmul);
// Of the dims of what view `id` reads, where its own have `of`; nothing where some index is no such sum.
std::optional<Dependences> ThroughView(const FusionContext& context, NodeId id, const Dependences& of);

// The padding in `core` (ascending) that `matmul` reads through such views, all floating,, and nobody else; -1
// if there is none. The matmul's kernel computes what each task reads of it.
NodeId PaddingOfLhs(const FusionContext& context, const Uses& uses, const std::vector<NodeId>& core, NodeId matmul);

}  // namespace tailor

#endif  // TAILOR_FUSION_LHS_VIEWS_H_
