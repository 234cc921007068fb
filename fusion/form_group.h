// What a set of nodes is as one group: its kind, inputs, outputs, axes, and how each node maps onto them.
#ifndef TAILOR_FUSION_FORM_GROUP_H_
#define TAILOR_FUSION_FORM_GROUP_H_

#include <vector>

#include "absl/status/statusor.h"
#include "fusion/fusion_context.h"

namespace tailor {

// The group of the core nodes `core` (ascending) and the floating nodes that they read through. Fails
// with the reason why they cannot be one kernel.
absl::StatusOr<FusionGroup> FormGroup(const FusionContext& context, const Uses& uses, std::vector<NodeId> core);

}  // namespace tailor

#endif  // TAILOR_FUSION_FORM_GROUP_H_
