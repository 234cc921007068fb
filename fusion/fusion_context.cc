#include "fusion/fusion_context.h"

#include <algorithm>

#include "fusion/node_class.h"
#include "graph/custom.h"

namespace tailor {
namespace {

std::vector<bool> LiveNodes(const Graph& graph) {
  std::vector<bool> live(graph.nodes().size(), false);
  for (const Output& output : graph.outputs()) live[output.value.node] = true;
  for (NodeId id = static_cast<NodeId>(live.size()) - 1; id >= 0; --id) {
    live[id] = live[id] || graph.node(id).op == OpKind::kContinuation || HasEffects(graph.node(id));
    if (!live[id]) continue;
    for (Value operand : graph.node(id).operands) live[operand.node] = true;
  }
  return live;
}

}  // namespace

Uses::Uses(const Graph& graph, std::vector<bool> floating) : live_(LiveNodes(graph)), floating_(std::move(floating)) {
  size_t count = graph.nodes().size();
  core_.resize(count);
  stored_.resize(count);
  users_.resize(count);
  readers_.resize(count);
  for (const Output& output : graph.outputs()) stored_[output.value.node] = true;
  for (NodeId id = 0; id < static_cast<NodeId>(count); ++id) {
    core_[id] = live_[id] && !floating_[id] && HasCode(graph.node(id));
    if (!live_[id]) continue;
    for (Value operand : graph.node(id).operands) {
      std::vector<NodeId>& users = users_[operand.node];
      if (users.empty() || users.back() != id) users.push_back(id);
      if (IsControl(graph.node(id))) stored_[operand.node] = true;
    }
  }
  for (NodeId id = static_cast<NodeId>(count) - 1; id >= 0; --id) {
    std::vector<NodeId>& readers = readers_[id];
    for (NodeId user : users_[id]) {
      if (core_[user]) readers.push_back(user);
      if (floating_[user]) readers.insert(readers.end(), readers_[user].begin(), readers_[user].end());
    }
    std::sort(readers.begin(), readers.end());
    readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
  }
}

Uses Uses::Of(const Graph& graph, const FusionPlan& plan) {
  std::vector<bool> live = LiveNodes(graph);
  std::vector<bool> floating(graph.nodes().size(), false);
  for (size_t id = 0; id < floating.size(); ++id) floating[id] = live[id] && IsFree(graph.nodes()[id]);
  for (const FusionGroup& group : plan.groups) {
    for (Value output : group.outputs) floating[output.node] = false;
  }
  return Uses(graph, std::move(floating));
}

}  // namespace tailor
