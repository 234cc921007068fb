#include "fusion/facts_text.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analysis/shape_facts.h"
#include "fusion/propagate_facts.h"
#include "fusion/joins.h"
#include "fusion/split_at_data_dependent_dims.h"
#include "graph/region_rules.h"
#include "graph/status_macros.h"

namespace tailor {
namespace {

// Names of the symbols of stage `next` that are data-dependent: bound by the arguments of continuation node `rest`.
std::string DataDependentSymbols(const Graph& graph, const Node& rest, const Graph& next) {
  std::vector<std::string> names;
  for (size_t i = 0; i < next.inputs().size(); ++i) {
    const bool handed = i < rest.operands.size();
    const Shape& shape = next.type({next.inputs()[i], 0}).shape;
    if (!handed && rest.i64s("counts")[i - rest.operands.size()] >= 0) names.push_back(next.DimText(shape[0]));
    if (!handed) continue;
    const Value operand = rest.operands[i];
    const Node& source = graph.node(operand.node);
    if (source.op != OpKind::kWhile && source.op != OpKind::kIf) continue;
    const std::vector<bool> data_dependent = DataDependentDims(graph, source)[operand.result];
    for (size_t d = 0; d < data_dependent.size(); ++d) {
      if (data_dependent[d]) names.push_back(next.DimText(shape[d]));
    }
  }
  return absl::StrJoin(names, ", ");
}

std::string Title(const Graph& graph, NodeId id, size_t region) {
  const Node& node = graph.node(id);
  constexpr const char* kParts[2][2] = {{"condition", "body"}, {"then branch", "else branch"}};
  return absl::StrCat(kParts[node.op == OpKind::kIf][region], " of ", InfoOf(node.op).text, " ", graph.NameOf({id, 0}));
}

absl::Status AppendRegions(const Graph& graph, const ShapeFacts& facts, std::string* text) {
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    for (size_t region = 0; region < graph.node(id).regions.size(); ++region) {
      TAILOR_ASSIGN_OR_RETURN(const Graph inside, PropagateFacts(graph, facts, id, static_cast<int>(region)));
      TAILOR_ASSIGN_OR_RETURN(const std::string known, FactsText(inside));
      absl::StrAppend(text, "-- ", Title(graph, id, region), "\n", known);
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> FactsText(const Graph& graph) {
  TAILOR_ASSIGN_OR_RETURN(std::vector<Graph> stages, SplitAtDataDependentDims(graph));
  std::string text;
  for (size_t k = 0; k < stages.size(); ++k) {
    const Graph& stage = stages[k];
    TAILOR_ASSIGN_OR_RETURN(const ShapeFacts facts, ShapeFacts::Collect(stage));
    absl::StrAppend(&text, facts.ToText());
    TAILOR_ASSIGN_OR_RETURN(const auto version, VersionWithoutJoins(stage, facts));
    if (version) absl::StrAppend(&text, "versions\n  ", JoinsText(stage, *version), "\n  any dim sizes\n");
    TAILOR_RETURN_IF_ERROR(AppendRegions(stage, facts, &text));
    if (k + 1 == stages.size()) break;
    const NodeId rest = static_cast<NodeId>(stage.nodes().size()) - 1;
    TAILOR_ASSIGN_OR_RETURN(stages[k + 1], PropagateFacts(stage, facts, rest, stages[k + 1]));
    absl::StrAppend(&text, "-- continuation after data-dependent ",
                    DataDependentSymbols(stage, stage.node(rest), stages[k + 1]), "\n");
  }
  return text;
}

}  // namespace tailor
