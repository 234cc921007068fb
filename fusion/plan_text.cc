#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "fusion/fusion_plan.h"
#include "fusion/node_class.h"
#include "graph/element.h"

namespace tailor {
namespace {

struct PlanPrinter {
  const Graph& graph;
  std::string text;

  // Literals print as numbers.
  std::string Name(Value v) const {
    if (!IsLiteral(graph, v)) return graph.NameOf(v);
    return ElementText(graph.type(v).dtype, graph.constant_data(v.node).data);
  }

  std::string Names(const std::vector<Value>& values) const {
    return absl::StrJoin(values, ", ", [&](std::string* out, Value v) { out->append(Name(v)); });
  }

  std::string NodeText(NodeId id) const {
    const Node& node = graph.node(id);
    std::string operands = Names(node.operands);
    return absl::StrCat(graph.NameOf({id, 0}), " = ", InfoOf(node.op).text, operands.empty() ? "" : " ", operands);
  }

  std::string NodeTexts(const std::vector<NodeId>& nodes) const {
    return absl::StrJoin(nodes, "; ", [&](std::string* out, NodeId id) { out->append(NodeText(id)); });
  }

  std::string AxesText(const std::vector<GroupAxis>& axes) const {
    std::string text = "[";
    for (size_t a = 0; a < axes.size(); ++a) {
      bool first_tile = axes[a].tile && (a == 0 || !axes[a - 1].tile);
      absl::StrAppend(&text,
                      first_tile ? (a == 0 ? "| " : " | ")
                      : a == 0   ? ""
                                 : ", ",
                      graph.DimText(axes[a].dim_size));
    }
    return text + "]";
  }

  void Append(size_t number, const FusionGroup& group) {
    constexpr const char* kKinds[] = {"loop", "row", "contraction", "scan", "scatter", "control"};
    std::vector<NodeId> inside, after;
    for (NodeId id : group.nodes) {
      const std::vector<NodeId>& trailing = group.trailing_views;
      const bool later = !trailing.empty() && id > trailing.back();
      (later || std::count(trailing.begin(), trailing.end(), id) != 0 ? after : inside).push_back(id);
    }
    absl::StrAppend(&text, "g", number, " ", kKinds[static_cast<int>(group.kind)], " ", AxesText(group.axes), " in(",
                    Names(group.inputs), ") out(", Names(group.outputs), ") { ", NodeTexts(inside), " }");
    if (!after.empty()) absl::StrAppend(&text, " then { ", NodeTexts(after), " }");
    text += "\n";
  }

  void Append(const Refusal& refusal) {
    absl::StrAppend(&text, "refused ", graph.NameOf({refusal.producer, 0}), " -> ", graph.NameOf({refusal.consumer, 0}),
                    " in ", refusal.pass, ": ", refusal.reason, "\n");
  }
};

}  // namespace

std::string FusionPlan::ToText(const Graph& graph) const {
  PlanPrinter printer{graph, ""};
  for (size_t g = 0; g < groups.size(); ++g) printer.Append(g, groups[g]);
  for (const std::vector<int>& chain : chains) {
    absl::StrAppend(&printer.text, "chain g", absl::StrJoin(chain, " g"), "\n");
  }
  for (const Refusal& refusal : refusals) printer.Append(refusal);
  return printer.text;
}

}  // namespace tailor
