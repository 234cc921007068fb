// Of a fusion plan's chains, those stay that become one kernel.
#ifndef TAILOR_CODEGEN_LOWER_KEEP_JOINED_CHAINS_H_
#define TAILOR_CODEGEN_LOWER_KEEP_JOINED_CHAINS_H_

#include "absl/status/status.h"
#include "analysis/shape_facts.h"
#include "fusion/fusion_plan.h"

namespace tailor::lower {

// Takes those chains out of `plan` whose groups JoinAttention cannot join, or whose factors have longer rows than
// TargetTraits::joined_dim_size, and refuses them with the reason: their groups are kernels of their own. Dumps the
// plan as that of program `number`.
absl::Status KeepJoinedChains(int number, const Graph& graph, const ShapeFacts& facts, const TargetTraits& traits,
                              FusionPlan& plan);

}  // namespace tailor::lower

#endif  // TAILOR_CODEGEN_LOWER_KEEP_JOINED_CHAINS_H_
