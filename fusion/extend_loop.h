// Merging a loop with the one loop that reads it, without forming the group anew.
#ifndef TAILOR_FUSION_EXTEND_LOOP_H_
#define TAILOR_FUSION_EXTEND_LOOP_H_

#include "fusion/fusion_context.h"

namespace tailor {

// Puts `producer` in front of `loop` where that leaves everything about the nodes of both as it is: they have one
// domain, `loop` reads the outputs of `producer` element by element, and they have no floating node in common. The
// result is then what FormGroup makes of the nodes of both. False, with `loop` as it was, where this cannot be told.
//
// O(p log l) for p nodes of `producer` and l of `loop`, besides moving sorted lists: a chain that is merged node by
// node is linear.
bool ExtendLoop(const FusionContext& context, const Uses& uses, const FusionGroup& producer, FusionGroup& loop);

}  // namespace tailor

#endif  // TAILOR_FUSION_EXTEND_LOOP_H_
