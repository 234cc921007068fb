// Pass: row groups merge with their consumers and producers as long as group dims and tile dims carry over, so that a
// chain of reductions over the same rows is one kernel (BladeDISC 4.2, AStitch 3.1 and 4.3).
#ifndef TAILOR_FUSION_STITCH_H_
#define TAILOR_FUSION_STITCH_H_

#include "absl/status/status.h"
#include "fusion/fusion_context.h"

namespace tailor {

// Requires: FuseReduce has run. Preserves: plan validity.
absl::Status Stitch(const FusionContext& context, FusionPlan& plan);

}  // namespace tailor

#endif  // TAILOR_FUSION_STITCH_H_
