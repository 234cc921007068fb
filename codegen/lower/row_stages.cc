#include "codegen/lower/row_stages.h"

#include <algorithm>

#include "codegen/plan/plan_queries.h"

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

}  // namespace

RowStages PlanRowStages(const Graph& graph, const FusionGroup& group) {
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
    if (at.size() > 1 && !IsReduction(graph, id) && CoversTile(group, id) && cost[id] > kKeepCost) {
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
