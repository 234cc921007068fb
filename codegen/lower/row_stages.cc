#include "codegen/lower/row_stages.h"

#include <algorithm>
#include <optional>

#include "analysis/reshape_groups.h"
#include "fusion/node_class.h"

namespace tailor::lower {
namespace {

// Above this many estimated cycles per vector, recomputing costs more than a store and a load.
constexpr int kKeepCost = 5;

bool IsReduction(const Graph& graph, NodeId id) { return InfoOf(graph.node(id).op).fusion == FusionClass::kReduction; }

// Whether `id` covers every tile axis, so that its value differs from element to element of a row.
bool CoversTile(const FusionGroup& group, NodeId id) {
  auto it = group.axis_of.find(id);
  if (it == group.axis_of.end()) return false;
  for (size_t axis = 0; axis < group.axes.size(); ++axis) {
    if (!group.axes[axis].tile || group.axes[axis].dim_size == DimExpr(1)) continue;
    if (std::find(it->second.begin(), it->second.end(), static_cast<int>(axis)) == it->second.end()) return false;
  }
  return true;
}

// The axes along which a reduction reads its operand, by dim; -1: the dim has size 1.
std::vector<int> OperandAxes(const Graph& graph, const FusionGroup& group, NodeId reduction) {
  const Node& node = graph.node(reduction);
  const int rank = graph.type(node.operands[0]).rank();
  std::vector<int> axes(rank, -1);
  std::vector<bool> reduced(rank);
  size_t next = 0;
  for (int64_t axis : node.i64s("axes")) reduced[axis < 0 ? axis + rank : axis] = true;
  for (int d = 0; d < rank; ++d) {
    if (reduced[d]) axes[d] = group.reduce_axes.at(reduction)[next++];
  }
  next = 0;
  for (int d = 0; d < rank; ++d) {
    if (!reduced[d]) axes[d] = group.axis_of.at(reduction)[next];
    if (!reduced[d] || node.i64("keep_dims") != 0) ++next;
  }
  return axes;
}

// A reduction among the users of a view, which has no axes of its own, if all of them read it along the same axes.
std::optional<NodeId> ReductionReadingAlike(const Graph& graph, const FusionGroup& group,
                                            const std::vector<NodeId>& users) {
  const auto reduction =
      std::find_if(users.begin(), users.end(), [&](NodeId user) { return IsReduction(graph, user); });
  if (reduction == users.end()) return std::nullopt;
  const std::vector<int> axes = OperandAxes(graph, group, *reduction);
  const bool alike = std::all_of(users.begin(), users.end(), [&](NodeId user) {
    if (IsReduction(graph, user)) return OperandAxes(graph, group, user) == axes;
    return ClassOf(graph.node(user)) == FusionClass::kElementwise && group.axis_of.at(user) == axes;
  });
  return alike ? std::optional(*reduction) : std::nullopt;
}

// Whether each element of a row of `view` is gathered: the index along a reduced dim is divided by a reshape, and then
// goes through a transpose. `reduction` reads the view.
bool Gathers(const Graph& graph, const ShapeFacts& facts, const std::set<NodeId>& members, NodeId view,
             NodeId reduction) {
  std::vector<bool> in_row(graph.type({view, 0}).rank());  // dims of `view` whose index differs within a row
  for (int64_t axis : graph.node(reduction).i64s("axes")) in_row[axis < 0 ? axis + in_row.size() : axis] = true;
  bool divided = false;
  while (members.contains(view)) {
    const Node& node = graph.node(view);
    if (node.op == OpKind::kTranspose) {
      if (divided) return true;
      const std::vector<int64_t>& permutation = node.i64s("permutation");
      std::vector<bool> before(in_row.size());
      for (size_t d = 0; d < in_row.size(); ++d) before[permutation[d]] = in_row[d];
      in_row = before;
    } else if (node.op == OpKind::kReshape) {
      const Shape &from = graph.type(node.operands[0]).shape, &to = node.results[0].shape;
      std::vector<bool> before(from.size());
      for (const ReshapeGroup& g : MatchReshape(from, to, facts)) {
        const bool moves =
            std::any_of(in_row.begin() + g.to_begin, in_row.begin() + g.to_end, [](bool b) { return b; });
        if (!moves) continue;
        std::fill(before.begin() + g.from_begin, before.begin() + g.from_end, true);
        divided |= g.from_end - g.from_begin > 1;
      }
      in_row = before;
    } else {
      return false;
    }
    view = node.operands[0].node;
  }
  return false;
}

}  // namespace

RowStages PlanRowStages(const Graph& graph, const ShapeFacts& facts, const FusionGroup& group) {
  RowStages stages;
  const std::set<NodeId> members(group.nodes.begin(), group.nodes.end());
  std::set<NodeId> outputs;
  for (Value v : group.outputs) outputs.insert(v.node);

  std::map<NodeId, int> cost;  // estimated cycles to compute a node within one stage
  std::map<NodeId, std::vector<NodeId>> users;
  for (NodeId id : group.nodes) {
    int level = 0;
    int total = InfoOf(graph.node(id).op).cost;
    for (Value operand : graph.node(id).operands) {
      if (!members.contains(operand.node)) {
        total += 1;
        continue;
      }
      users[operand.node].push_back(id);
      const bool reduction = IsReduction(graph, operand.node);
      level = std::max(level, stages.level[operand.node] + (reduction ? 1 : 0));
      total += reduction ? 0 : std::min(cost[operand.node], 1000);
    }
    stages.level[id] = level;
    cost[id] = total;
    if (IsReduction(graph, id)) stages.reductions.push_back(id);
  }

  // Backwards from the outputs: the stages that need each node's value.
  std::map<NodeId, std::set<int>> wanted;
  for (auto it = group.nodes.rbegin(); it != group.nodes.rend(); ++it) {
    const NodeId id = *it;
    std::set<int>& at = wanted[id];
    if (outputs.contains(id)) at.insert(stages.level[id]);
    for (NodeId user : users[id]) {
      const bool root = IsReduction(graph, user) || stages.kept.contains(user);
      if (root) {
        at.insert(stages.level[user]);
      } else {
        at.insert(wanted[user].begin(), wanted[user].end());
      }
    }
    if (at.size() <= 1 || IsReduction(graph, id)) continue;
    if (CoversTile(group, id) && cost[id] > kKeepCost) stages.kept.insert(id);
    if (!IsFree(graph.node(id))) continue;
    const auto reduction = ReductionReadingAlike(graph, group, users[id]);
    if (reduction && Gathers(graph, facts, members, id, *reduction)) stages.kept_views.emplace(id, *reduction);
  }
  for (NodeId id : group.nodes) {
    const bool ends_row = IsReduction(graph, id) && outputs.contains(id);  // stored when the reduction is complete
    stages.count = std::max(stages.count, stages.level[id] + (ends_row ? 2 : 1));
  }
  return stages;
}

}  // namespace tailor::lower
