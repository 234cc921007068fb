// Group-dim and tile-dim propagation within one group (BladeDISC 4.2): from the dims of the dominant node to every
// other node, then back from the outputs to count how often each node is computed.
#ifndef TAILOR_FUSION_AXIS_PROPAGATION_H_
#define TAILOR_FUSION_AXIS_PROPAGATION_H_

#include <map>
#include <vector>

#include "absl/status/status.h"
#include "fusion/fusion_context.h"

namespace tailor {

// How the group's loop nest reaches one node.
struct NodeUse {
  enum class Kind : uint8_t {
    kNone,     // not at all
    kAligned,  // its dims are axes: `axes`
    kOnce,     // at one other index, each element at most once
    kMany,     // at several indices, or elements more than once
  };
  Kind kind = Kind::kNone;
  std::vector<int> axes;  // kAligned: per dim, the axis or kUnitDim
  // kOnce: the index is that of this node's operand. Readers of one index share it.
  NodeId view = -1;
  int operand = 0;
  friend bool operator==(const NodeUse&, const NodeUse&) = default;
};

// Fills group.axis_of, group.reduce_axes and group.read_elsewhere from group.{kind, nodes, outputs, dominant, axes,
// trailing_views}. Fails with the reason why the nodes cannot share the loop nest.
absl::Status PropagateAxes(const FusionContext& context, const Uses& uses, FusionGroup& group);

}  // namespace tailor

#endif  // TAILOR_FUSION_AXIS_PROPAGATION_H_
