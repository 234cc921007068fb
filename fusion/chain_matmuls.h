// Pass: a matmul, the rows computed from its result, and a matmul that takes these rows as its lhs run as one kernel
// (attention: scores, softmax, values). The kernel processes one block of rows at a time, so the scores and the softmax
// are never in memory as a whole (AStitch section 3.1, the regional scheme).
#ifndef TAILOR_FUSION_CHAIN_MATMULS_H_
#define TAILOR_FUSION_CHAIN_MATMULS_H_

#include "absl/status/status.h"
#include "fusion/fusion_context.h"

namespace tailor {

// Requires: groups are final. Preserves: groups; appends to plan.chains.
absl::Status ChainMatmuls(const FusionContext& context, FusionPlan& plan);

}  // namespace tailor

#endif  // TAILOR_FUSION_CHAIN_MATMULS_H_
