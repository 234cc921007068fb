// Pass: independent row groups over one domain that read the same tensor share a kernel, so that it is read once
// (AStitch 4.1, remote stitching).
#ifndef TAILOR_FUSION_REMOTE_STITCH_H_
#define TAILOR_FUSION_REMOTE_STITCH_H_

#include "absl/status/status.h"
#include "fusion/fusion_context.h"

namespace tailor {

// Requires: all group-forming passes before it have run. Preserves: plan validity.
absl::Status RemoteStitch(const FusionContext& context, FusionPlan& plan);

}  // namespace tailor

#endif  // TAILOR_FUSION_REMOTE_STITCH_H_
