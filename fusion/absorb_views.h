// Pass: views become index maps of their readers (BladeDISC 4.2: input-inline).
#ifndef TAILOR_FUSION_ABSORB_VIEWS_H_
#define TAILOR_FUSION_ABSORB_VIEWS_H_

#include "absl/status/status.h"
#include "fusion/fusion_context.h"

namespace tailor {

// Requires: one-node groups. Preserves: plan validity. A view stays a group of its own in five cases: it is a graph
// output; a matmul reads it through a non-linear index map; a matmul could store its result through it and one
// elementwise node reads it (FuseDotEpilogue may then take both); a matmul could store its result through it, it moves
// the last dim, and only loops read it, which would all read across rows; or, on CPUs, overlapping windows read it many
// times and their lanes would gather from its source.
absl::Status AbsorbViews(const FusionContext& context, FusionPlan& plan);

// One group per core node, in graph order; floating nodes are those of `floating`.
absl::StatusOr<FusionPlan> OneNodeGroups(const FusionContext& context, std::vector<bool> floating);

}  // namespace tailor

#endif  // TAILOR_FUSION_ABSORB_VIEWS_H_
