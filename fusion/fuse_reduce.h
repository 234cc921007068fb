// Pass: a reduction takes the loops that compute its operand (DISC 4.3: reduce-rooted input fusion).
#ifndef TAILOR_FUSION_FUSE_REDUCE_H_
#define TAILOR_FUSION_FUSE_REDUCE_H_

#include "absl/status/status.h"
#include "fusion/fusion_context.h"

namespace tailor {

// Requires: elementwise loops are maximal. Preserves: plan validity. A producer with other readers becomes an output of
// the row group, so nothing is computed twice.
absl::Status FuseReduce(const FusionContext& context, FusionPlan& plan);

}  // namespace tailor

#endif  // TAILOR_FUSION_FUSE_REDUCE_H_
