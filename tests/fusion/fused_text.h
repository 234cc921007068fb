// Text in, text out: what the fusion tests compare.
#ifndef TAILOR_TESTS_FUSION_FUSED_TEXT_H_
#define TAILOR_TESTS_FUSION_FUSED_TEXT_H_

#include <string>

#include "fusion/fusion_context.h"
#include "fusion/fusion_plan.h"
#include "graph/graph.h"

namespace tailor {

using FusionPass = absl::Status (*)(const FusionContext& context, FusionPlan& plan);
using RewritePass = absl::StatusOr<Graph> (*)(const Graph& graph, const ShapeFacts& facts);

// Every function fails the current test on an error and then returns its message.

// The graph after one rewrite.
std::string TextAfter(RewritePass pass, const std::string& graph_text);
// The graph after all rewrites.
std::string RewrittenText(const std::string& graph_text);
// The plan after some passes over one-node groups; the graph is taken as it is.
std::string PlanTextAfter(std::initializer_list<FusionPass> passes, const std::string& graph_text);
// Rewritten, fused, verified.
std::string FusedText(const std::string& graph_text);
std::string FusedText(const Graph& graph);
// The lines of a plan's text that are refusals, or that are not.
std::string RefusalLines(const std::string& plan_text);
std::string GroupLines(const std::string& plan_text);

}  // namespace tailor

#endif  // TAILOR_TESTS_FUSION_FUSED_TEXT_H_
