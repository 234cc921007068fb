// Merges a loop into its only reader loop without forming the group again.
#ifndef TAILOR_FUSION_EXTEND_LOOP_H_
#define TAILOR_FUSION_EXTEND_LOOP_H_

#include "fusion/fusion_context.h"

namespace tailor {

// Prepends `producer` to `loop` where this changes no property of their nodes: both have one domain, `loop` reads the
// outputs of `producer` element by element, and they share no floating node. The result equals FormGroup of the nodes
// of both. Returns false, with `loop` unchanged, where these conditions cannot be established.
//
// O(p log l) for p nodes of `producer` and l of `loop`, plus the moves in sorted lists: merging a chain node by node is
// linear.
bool ExtendLoop(const FusionContext& context, const Uses& uses, const FusionGroup& producer, FusionGroup& loop);

}  // namespace tailor

#endif  // TAILOR_FUSION_EXTEND_LOOP_H_
