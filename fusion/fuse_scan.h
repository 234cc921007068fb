// Pass: a scan takes the loops before and after it.
#ifndef TAILOR_FUSION_FUSE_SCAN_H_
#define TAILOR_FUSION_FUSE_SCAN_H_

#include "absl/status/status.h"
#include "fusion/fusion_context.h"

namespace tailor {

// Requires: elementwise loops are maximal, and reductions have taken theirs. Preserves: plan validity. A producer with
// other readers becomes an output of the scan's group, so nothing is computed twice.
absl::Status FuseScan(const FusionContext& context, FusionPlan& plan);

}  // namespace tailor

#endif  // TAILOR_FUSION_FUSE_SCAN_H_
