#include "fusion/facts_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analysis/shape_facts.h"
#include "fusion/hand_down_facts.h"
#include "fusion/joins.h"
#include "fusion/split_at_data.h"
#include "graph/region_rules.h"
#include "graph/status_macros.h"

namespace tailor {
namespace {

// The symbols of a rest that have no value before it.
std::string ToldSymbols(const Graph& graph, const Node& rest) {
  const Graph& region = *rest.regions[0].graph;
  std::vector<std::string> names;
  for (size_t i = 0; i < region.inputs().size(); ++i) {
    const bool handed = i < rest.operands.size();
    const Shape& shape = region.type({region.inputs()[i], 0}).shape;
    if (!handed && rest.i64s("counts")[i - rest.operands.size()] >= 0) names.push_back(region.DimText(shape[0]));
    if (!handed) continue;
    const Value operand = rest.operands[i];
    const Node& teller = graph.node(operand.node);
    if (teller.op != OpKind::kWhile && teller.op != OpKind::kIf) continue;
    const std::vector<bool> told = ToldExtents(graph, teller)[operand.result];
    for (size_t d = 0; d < told.size(); ++d) {
      if (told[d]) names.push_back(region.DimText(shape[d]));
    }
  }
  return absl::StrJoin(names, ", ");
}

std::string Title(const Graph& graph, NodeId id, size_t region) {
  const Node& node = graph.node(id);
  if (node.op == OpKind::kRest) return absl::StrCat("once data has told ", ToldSymbols(graph, node));
  constexpr const char* kParts[2][2] = {{"condition", "body"}, {"then branch", "else branch"}};
  return absl::StrCat(kParts[node.op == OpKind::kIf][region], " of ", InfoOf(node.op).text, " ", graph.NameOf({id, 0}));
}

}  // namespace

absl::StatusOr<std::string> FactsText(const Graph& whole) {
  TAILOR_ASSIGN_OR_RETURN(const Graph graph, SplitAtData(whole));
  TAILOR_ASSIGN_OR_RETURN(const ShapeFacts facts, ShapeFacts::Collect(graph));
  std::string text = facts.ToText();
  TAILOR_ASSIGN_OR_RETURN(const auto version, VersionWithoutJoins(whole, graph, facts));
  if (version) absl::StrAppend(&text, "versions\n  ", JoinsText(graph, *version), "\n  any extents\n");
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    for (size_t region = 0; region < graph.node(id).regions.size(); ++region) {
      TAILOR_ASSIGN_OR_RETURN(const Graph inside, HandDownFacts(graph, facts, id, static_cast<int>(region)));
      TAILOR_ASSIGN_OR_RETURN(const std::string known, FactsText(inside));
      absl::StrAppend(&text, "-- ", Title(graph, id, region), "\n", known);
    }
  }
  return text;
}

}  // namespace tailor
