// Pass: elementwise, view and indexed nodes over one domain share a loop (DISC 4.3, BladeDISC 4.1).
#ifndef TAILOR_FUSION_FUSE_ELEMENTWISE_H_
#define TAILOR_FUSION_FUSE_ELEMENTWISE_H_

#include "absl/status/status.h"
#include "fusion/fusion_context.h"

namespace tailor {

// Requires: views absorbed. Preserves: plan validity, kinds other than kLoop.
absl::Status FuseElementwise(const FusionContext& context, FusionPlan& plan);

}  // namespace tailor

#endif  // TAILOR_FUSION_FUSE_ELEMENTWISE_H_
