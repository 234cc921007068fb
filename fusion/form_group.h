// Forms one fusion group from a set of nodes: kind, inputs, outputs, axes, and the map of each node onto them.
#ifndef TAILOR_FUSION_FORM_GROUP_H_
#define TAILOR_FUSION_FORM_GROUP_H_

#include <vector>

#include "absl/status/statusor.h"
#include "fusion/fusion_context.h"

namespace tailor {

// The group of the core nodes `core` (ascending) and of the floating nodes that they read through. Errors: the reason
// why they cannot be one kernel.
absl::StatusOr<FusionGroup> FormGroup(const FusionContext& context, const Uses& uses, std::vector<NodeId> core);

}  // namespace tailor

#endif  // TAILOR_FUSION_FORM_GROUP_H_
