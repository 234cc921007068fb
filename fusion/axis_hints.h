// First half of axis propagation: which axis each dim of each value in a group would best be.
#ifndef TAILOR_FUSION_AXIS_HINTS_H_
#define TAILOR_FUSION_AXIS_HINTS_H_

#include <map>
#include <utility>
#include <vector>

#include "fusion/fusion_context.h"
#include "fusion/operand_map.h"

namespace tailor {

inline constexpr int kUnknownAxis = -4;

// Axes spread from the group's domain along dims that read each other, both ways: through the group's
// own nodes, then through values that several nodes read, then by equal extents. Hints decide where an
// output or a reduction lies; whether the group holds together is checked afterwards from these.
class AxisHints {
 public:
  // Uses group.{kind, nodes, outputs, dominant, axes}.
  AxisHints(const FusionContext& context, const FusionGroup& group);

  // Per dim: axis, kUnitDim or kUnknownAxis.
  const std::vector<int>& of(NodeId id) const { return of_.at({id, 0}); }
  // The dims that a reduction reads.
  const std::vector<int>& domain(NodeId reduction) const { return domain_.at(reduction); }
  const OperandMap& map(NodeId id, int operand) const { return maps_.at({id, operand}); }

 private:
  enum class Carriers { kNodes, kValues };

  bool InGroup(NodeId id) const;
  std::vector<int> Blank(Value value) const;
  std::vector<int> Identity(Value value) const;
  void Seed();
  void Spread(Carriers carriers);
  bool SpreadOnce(Carriers carriers);
  bool MatchExtents();
  bool MatchDims(const Shape& shape, std::vector<int>& axes, const OperandMap* reduction);

  const FusionContext& context_;
  const FusionGroup& group_;
  std::map<Value, std::vector<int>> of_;
  std::map<NodeId, std::vector<int>> domain_;
  std::map<std::pair<NodeId, int>, OperandMap> maps_;
};

}  // namespace tailor

#endif  // TAILOR_FUSION_AXIS_HINTS_H_
