#include "codegen/lower/row_stages.h"

#include <algorithm>
#include <optional>

#include "codegen/plan/plan_queries.h"
#include "fusion/node_class.h"

namespace tailor::lower {
namespace {

// Above this many estimated cycles per vector, recomputing costs more than a store and a load.
constexpr int kKeepCost = 5;

bool IsReduction(const Graph& graph, NodeId id) { return InfoOf(graph.node(id).op).fusion == FusionClass::kReduction; }

// Estimated cycles of a node by itself. A view costs nothing, but a reshape of a transposed tensor has its indices
// divided: each element is gathered.
int CostOf(const Graph& graph, NodeId id) {
  constexpr int kGather = 6;
  const Node& node = graph.node(id);
  const bool gathers = node.op == OpKind::kReshape && graph.node(node.operands[0].node).op == OpKind::kTranspose;
  return gathers ? kGather : InfoOf(node.op).cost;
}

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

// A reduction among the users of a view, which has no axes of its own, if all of them read it at the same index: they
// have its shape, or reduce the same axes of it.
std::optional<NodeId> ReductionReadingAlike(const Graph& graph, const FusionGroup& group,
                                            const std::vector<NodeId>& users) {
  const auto reduction =
      std::find_if(users.begin(), users.end(), [&](NodeId user) { return IsReduction(graph, user); });
  if (reduction == users.end()) return std::nullopt;
  const Shape& shape = graph.type(graph.node(*reduction).operands[0]).shape;
  const bool alike = std::all_of(users.begin(), users.end(), [&](NodeId user) {
    if (!IsReduction(graph, user)) return graph.type({user, 0}).shape == shape && CoversTile(group, user);
    return graph.node(user).i64s("axes") == graph.node(*reduction).i64s("axes") &&
           group.axis_of.at(user) == group.axis_of.at(*reduction) &&
           group.reduce_axes.at(user) == group.reduce_axes.at(*reduction);
  });
  return alike ? std::optional(*reduction) : std::nullopt;
}

}  // namespace

RowStages PlanRowStages(const Graph& graph, const FusionGroup& group) {
  RowStages stages;
  const std::set<NodeId> members(group.nodes.begin(), group.nodes.end());
  std::set<NodeId> outputs;
  for (Value v : group.outputs) outputs.insert(v.node);

  std::map<NodeId, std::vector<NodeId>> users;
  for (NodeId id : group.nodes) {
    for (Value operand : graph.node(id).operands) {
      if (members.contains(operand.node)) users[operand.node].push_back(id);
    }
  }
  std::map<NodeId, NodeId> reduced_views;
  for (NodeId id : group.nodes) {
    if (!IsFree(graph.node(id))) continue;
    if (const auto reduction = ReductionReadingAlike(graph, group, users[id])) reduced_views.emplace(id, *reduction);
  }

  std::map<NodeId, int> cost;  // estimated cycles to compute a node within one stage
  for (NodeId id : group.nodes) {
    int level = 0;
    int total = CostOf(graph, id);
    for (Value operand : graph.node(id).operands) {
      if (!members.contains(operand.node)) {
        total += 1;
        continue;
      }
      const bool reduction = IsReduction(graph, operand.node);
      level = std::max(level, stages.level[operand.node] + (reduction ? 1 : 0));
      if (reduction) continue;
      const bool kept = reduced_views.contains(operand.node) && cost[operand.node] > kKeepCost;
      total += kept ? 1 : std::min(cost[operand.node], 1000);
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
    if (at.size() <= 1 || IsReduction(graph, id) || cost[id] <= kKeepCost) continue;
    if (const auto view = reduced_views.find(id); view != reduced_views.end()) {
      stages.kept_views.insert(*view);
    } else if (CoversTile(group, id)) {
      stages.kept.insert(id);
    }
  }
  for (NodeId id : group.nodes) {
    const bool ends_row = IsReduction(graph, id) && outputs.contains(id);  // stored when the reduction is complete
    stages.count = std::max(stages.count, stages.level[id] + (ends_row ? 2 : 1));
  }
  return stages;
}

}  // namespace tailor::lower
