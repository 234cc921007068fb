// Views through which a product reads its left operand in place: those after which each index of what lies in memory
// is a part that depends on the product's rows plus one that depends on the depth. That is what kernels walk by tables
// (codegen/cpu/gemm/left_operand.h): the windows of a convolution are such views.
#ifndef TAILOR_FUSION_LEFT_VIEWS_H_
#define TAILOR_FUSION_LEFT_VIEWS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "fusion/fusion_context.h"

namespace tailor {

// What the index of a dim depends on: a set of bits.
enum Dependence : uint8_t { kOnNothing = 0, kOnBatch = 1, kOnRows = 2, kOnDepth = 4 };
using Dependences = std::vector<uint8_t>;  // per dim

// Of the dims of a product's left operand.
Dependences OfLeftOperand(const Graph& graph, NodeId product);
// Of the dims of what view `id` reads, where its own have `of`; nothing where some index is no such sum.
std::optional<Dependences> ThroughView(const FusionContext& context, NodeId id, const Dependences& of);

// The padding in `core` (ascending) that `product` reads through such views, all floating,, and nobody else; -1
// if there is none. The product's kernel computes what each task reads of it.
NodeId PaddingOfLeftOperand(const FusionContext& context, const Uses& uses, const std::vector<NodeId>& core,
                            NodeId product);

}  // namespace tailor

#endif  // TAILOR_FUSION_LEFT_VIEWS_H_
