// Removes the chains of a fusion plan that cannot become one kernel.
#ifndef TAILOR_CODEGEN_LOWER_KEEP_JOINED_CHAINS_H_
#define TAILOR_CODEGEN_LOWER_KEEP_JOINED_CHAINS_H_

#include "absl/status/status.h"
#include "analysis/shape_facts.h"
#include "fusion/fusion_plan.h"

namespace tailor::lower {

// Removes the chains of `plan` that JoinAttention cannot join, or whose factors have rows longer than
// TargetTraits::max_attention_row. Records the reason as a refusal; their groups become separate kernels. Dumps the
// plan as that of program `number`.
absl::Status KeepJoinedChains(int number, const Graph& graph, const ShapeFacts& facts, const TargetTraits& traits,
                              FusionPlan& plan);

}  // namespace tailor::lower

#endif  // TAILOR_CODEGEN_LOWER_KEEP_JOINED_CHAINS_H_
