#include "tests/fusion/fused_text.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "fusion/absorb_views.h"
#include "fusion/rewrites.h"
#include "graph/status_macros.h"
#include "graph/text.h"
#include "graph/verifier.h"

namespace tailor {
namespace {

std::string Checked(absl::StatusOr<std::string> text) {
  if (text.ok()) return *std::move(text);
  ADD_FAILURE() << text.status().ToString();
  return std::string(text.status().message());
}

absl::StatusOr<std::string> Rewritten(RewritePass pass, const std::string& graph_text) {
  TAILOR_ASSIGN_OR_RETURN(Graph graph, ParseGraph(graph_text));
  TAILOR_ASSIGN_OR_RETURN(ShapeFacts facts, ShapeFacts::Collect(graph));
  TAILOR_ASSIGN_OR_RETURN(Graph rewritten, pass(graph, facts));
  TAILOR_RETURN_IF_ERROR(VerifyGraph(rewritten));
  return rewritten.ToText();
}

absl::StatusOr<std::string> Planned(std::initializer_list<FusionPass> passes, const std::string& graph_text) {
  TAILOR_ASSIGN_OR_RETURN(Graph graph, ParseGraph(graph_text));
  TAILOR_ASSIGN_OR_RETURN(ShapeFacts facts, ShapeFacts::Collect(graph));
  TargetTraits traits;
  FusionContext context{graph, facts, traits};
  TAILOR_ASSIGN_OR_RETURN(FusionPlan plan, OneNodeGroups(context, std::vector<bool>(graph.nodes().size(), false)));
  for (FusionPass pass : passes) {
    TAILOR_RETURN_IF_ERROR(pass(context, plan));
    TAILOR_RETURN_IF_ERROR(VerifyFusionPlan(plan, graph));
  }
  return plan.ToText(graph);
}

absl::StatusOr<std::string> Fused(const Graph& graph) {
  TAILOR_ASSIGN_OR_RETURN(ShapeFacts facts, ShapeFacts::Collect(graph));
  TAILOR_ASSIGN_OR_RETURN(Graph rewritten, Rewrite(graph, facts));
  TAILOR_ASSIGN_OR_RETURN(FusionPlan plan, Fuse(rewritten, facts, TargetTraits()));
  TAILOR_RETURN_IF_ERROR(VerifyFusionPlan(plan, rewritten));
  return plan.ToText(rewritten);
}

std::string Lines(const std::string& plan_text, bool refusals) {
  std::string kept;
  for (absl::string_view line : absl::StrSplit(plan_text, '\n', absl::SkipEmpty())) {
    if (absl::StartsWith(line, "refused ") == refusals) absl::StrAppend(&kept, line, "\n");
  }
  return kept;
}

}  // namespace

std::string TextAfter(RewritePass pass, const std::string& graph_text) { return Checked(Rewritten(pass, graph_text)); }

std::string RewrittenText(const std::string& graph_text) {
  return TextAfter([](const Graph& graph, const ShapeFacts& facts) { return Rewrite(graph, facts); }, graph_text);
}

std::string PlanTextAfter(std::initializer_list<FusionPass> passes, const std::string& graph_text) {
  return Checked(Planned(passes, graph_text));
}

std::string FusedText(const Graph& graph) { return Checked(Fused(graph)); }

std::string FusedText(const std::string& graph_text) {
  absl::StatusOr<Graph> graph = ParseGraph(graph_text);
  return graph.ok() ? FusedText(*graph) : Checked(graph.status());
}

std::string RefusalLines(const std::string& plan_text) { return Lines(plan_text, true); }
std::string GroupLines(const std::string& plan_text) { return Lines(plan_text, false); }

}  // namespace tailor
