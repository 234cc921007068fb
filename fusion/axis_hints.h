// First half of axis propagation: the preferred axis of each dim of each value in a group.
#ifndef TAILOR_FUSION_AXIS_HINTS_H_
#define TAILOR_FUSION_AXIS_HINTS_H_

#include <map>
#include <set>
#include <unordered_map>
#include <vector>

#include "fusion/fusion_context.h"
#include "fusion/operand_map.h"

namespace tailor {

inline constexpr int kUnknownAxis = -4;

// Axes propagate from the group's domain along dims that operand maps connect, in both directions: first through the
// group's own nodes, then through values with several readers, then by equal dim sizes. A hint decides which axis a dim
// of an output or reduction gets; PropagateAxes then checks that the group is valid under the hints. kLoop: the domain
// is that of the outputs; nothing propagates, and other nodes have no hints.
//
// Implementation: a worklist. An operand is visited again only after a dim at one of its ends became known. O(n log n)
// for n operands.
class AxisHints {
 public:
  // Uses group.{kind, nodes, outputs, dominant, axes}.
  AxisHints(const FusionContext& context, const FusionGroup& group);

  // Per dim: axis, kUnitDim or kUnknownAxis.
  const std::vector<int>& of(NodeId id) const { return of_.at({id, 0}); }
  // Axes of the dims of the reduction's operand.
  const std::vector<int>& domain(NodeId reduction) const { return domain_.at(reduction); }
  const OperandMap& map(NodeId id, int operand) const { return context_.maps.of(id, operand); }

 private:
  using Dims = std::vector<int>;
  enum class Carriers { kNodes, kValues };  // nodes of the group, values with several readers
  // One operand of a node, and the dims whose axes its map connects.
  struct Link {
    const OperandMap* map;
    Dims *result, *source;  // `source`: a reduction's domain, else the operand's
    Dims* operand;
    bool reduces;
    bool in_group;  // a node of the group computes the operand
  };

  bool InGroup(NodeId id) const;
  Dims Blank(Value value) const;
  Dims Identity(Value value) const;
  void Connect();
  void Seed();
  void SpreadAll(Carriers carriers);
  void SpreadPending(Carriers carriers);
  void Spread(const Link& link, Carriers carriers);
  void Touch(const Dims& dims);
  bool MatchDimSizes();
  bool MatchDims(const Shape& shape, Dims& axes, const OperandMap* reduction);

  const FusionContext& context_;
  const FusionGroup& group_;
  std::map<Value, Dims> of_;
  std::map<NodeId, Dims> domain_;
  std::vector<Link> links_;  // by node and operand
  std::unordered_map<const Dims*, std::vector<size_t>> links_at_;
  std::set<size_t> pending_;  // links_ to look at
};

}  // namespace tailor

#endif  // TAILOR_FUSION_AXIS_HINTS_H_
