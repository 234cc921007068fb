#include "codegen/lower/host_decisions.h"

#include <algorithm>
#include <utility>

namespace tailor::lower {

HostDecisions::HostDecisions(const Graph& graph, const ShapeFacts& facts, const FusionPlan& plan,
                             std::vector<std::string>& symbols)
    : graph_(graph), plan_(plan) {
  const auto is_control = [](const FusionGroup& group) { return group.kind == GroupKind::kControl; };
  const auto asks = [&](const FusionGroup& group) { return is_control(group) || group.kind == GroupKind::kScatter; };
  if (std::none_of(plan.groups.begin(), plan.groups.end(), asks)) return;
  known_.emplace(
      graph, KnownValues::Source{.input = [](int) { return std::nullopt; },
                                 .symbol = [&](SymbolId symbol) { return facts.Canonical(DimExpr::Symbol(symbol)); }});
  for (const FusionGroup& group : plan.groups) {
    if (!is_control(group) || graph.node(group.dominant).op != OpKind::kWhile) continue;
    const auto first = static_cast<SymbolId>(symbols.size());
    std::optional<CountedLoop> counted = CountLoop(graph, facts, *known_, group.dominant, first);
    if (!counted) continue;
    const Graph& body = *graph.node(group.dominant).regions[1].graph;
    for (const host::Counter& counter : counted->counters) {
      symbols.push_back(body.node(body.inputs()[counter.argument]).string("name"));
    }
    counted_.emplace(group.dominant, *std::move(counted));
  }
}

const CountedLoop* HostDecisions::Counted(NodeId id) const {
  const auto it = counted_.find(id);
  return it == counted_.end() ? nullptr : &it->second;
}

bool HostDecisions::IsCounter(NodeId id, size_t i) const {
  const CountedLoop* loop = Counted(id);
  return loop != nullptr &&
         std::any_of(loop->counters.begin(), loop->counters.end(),
                     [&](const host::Counter& counter) { return counter.argument == static_cast<int>(i); });
}

bool HostDecisions::IsOnHost(const FusionGroup& group) const {
  const auto is_known = [&](Value v) { return ValueOf(v) && !IsNeededInMemory(v); };
  return !group.outputs.empty() && std::all_of(group.outputs.begin(), group.outputs.end(), is_known);
}

bool HostDecisions::IsOutput(Value v) const {
  return std::any_of(graph_.outputs().begin(), graph_.outputs().end(),
                     [&](const Output& output) { return output.value == v; });
}

bool HostDecisions::IsRead(Value v) const {
  return IsOutput(v) || std::any_of(plan_.groups.begin(), plan_.groups.end(), [&](const FusionGroup& group) {
           return std::find(group.inputs.begin(), group.inputs.end(), v) != group.inputs.end();
         });
}

bool HostDecisions::IsNeededInMemory(Value v) const {
  const auto needs = [&](const FusionGroup& group) {
    if (std::find(group.inputs.begin(), group.inputs.end(), v) == group.inputs.end()) return false;
    if (group.kind != GroupKind::kControl) return true;
    const std::vector<Value>& operands = graph_.node(group.dominant).operands;
    for (size_t i = 0; i < operands.size(); ++i) {
      if (operands[i] == v && !IsDecision(group.dominant, i)) return true;
    }
    return false;
  };
  return IsOutput(v) || std::any_of(plan_.groups.begin(), plan_.groups.end(), needs);
}

bool HostDecisions::IsDecision(NodeId id, size_t i) const {
  if (graph_.node(id).op == OpKind::kIf) return i == 0;
  return IsCounter(id, i) && !IsRead({id, static_cast<int32_t>(i)});
}

}  // namespace tailor::lower
