// Pass: a matmul, rows computed from its result, and a matmul that takes these as its lhs run as one kernel
// (attention: scores, softmax, values). A block of rows at a time goes through all three, so that neither the scores
// nor what follows from them is in memory as a whole (AStitch section 3.1, the regional scheme).
#ifndef TAILOR_FUSION_CHAIN_MATMULS_H_
#define TAILOR_FUSION_CHAIN_MATMULS_H_

#include "absl/status/status.h"
#include "fusion/fusion_context.h"

namespace tailor {

// Requires: groups are final. Preserves: groups; adds to plan.chains.
absl::Status ChainMatmuls(const FusionContext& context, FusionPlan& plan);

}  // namespace tailor

#endif  // TAILOR_FUSION_CHAIN_MATMULS_H_
