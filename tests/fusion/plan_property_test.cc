// Random graphs: whatever they hold, each pass leaves a valid plan, and every edge between groups has a
// reason.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "fusion/fusion_context.h"
#include "fusion/node_class.h"
#include "fusion/rewrites.h"
#include "graph/graph.h"
#include "tests/support/may_refuse.h"
#include "tests/support/random_graph.h"

namespace tailor {
namespace {

// Dims that a group maps to an axis have its dim size.
void ExpectAxesHaveTheirDimSizes(const Graph& graph, const ShapeFacts& facts, const FusionPlan& plan) {
  for (const FusionGroup& group : plan.groups) {
    for (const auto& [id, axes] : group.axis_of) {
      const Shape& shape = graph.type({id, 0}).shape;
      for (size_t d = 0; d < axes.size(); ++d) {
        const DimExpr dim_size = axes[d] < 0 ? DimExpr(1) : group.axes[axes[d]].dim_size;
        EXPECT_TRUE(facts.ProvablyEqual(shape[d], dim_size)) << graph.NameOf({id, 0}) << "\n" << plan.ToText(graph);
      }
    }
  }
}

// What follows a reduction or matmul in its group is computed at the group's own axes, or is a view of that, or
// follows the trailing views.
void ExpectDependentsHaveAxes(const Graph& graph, const FusionPlan& plan) {
  for (const FusionGroup& group : plan.groups) {
    if (group.kind == GroupKind::kLoop) continue;
    std::set<NodeId> dependent;
    for (NodeId id : group.nodes) {
      const Node& node = graph.node(id);
      bool depends = IsReduction(node) || IsContraction(node) || IsScan(node);
      for (Value operand : node.operands) depends |= dependent.count(operand.node) != 0;
      if (!depends) continue;
      dependent.insert(id);
      const bool later = !group.trailing_views.empty() && id > group.trailing_views.back();
      EXPECT_TRUE(group.axis_of.count(id) != 0 || IsFree(node) || later) << graph.NameOf({id, 0}) << "\n"
                                                                         << plan.ToText(graph);
    }
  }
}

// Every pair of kernels where one reads what the other writes has a refusal.
void ExpectReasons(const Graph& graph, const FusionPlan& plan) {
  Uses uses = Uses::Of(graph, plan);
  std::map<NodeId, size_t> group_of;
  for (size_t g = 0; g < plan.groups.size(); ++g) {
    for (NodeId id : plan.groups[g].nodes) {
      if (uses.core(id)) group_of[id] = g;
    }
  }
  const auto chained = [&](size_t a, size_t b) {
    return std::any_of(plan.chains.begin(), plan.chains.end(), [&](const std::vector<int>& chain) {
      return std::count(chain.begin(), chain.end(), a) != 0 && std::count(chain.begin(), chain.end(), b) != 0;
    });
  };
  std::set<std::pair<size_t, size_t>> explained;
  for (const Refusal& refusal : plan.refusals) {
    EXPECT_FALSE(refusal.reason.empty());
    explained.emplace(group_of.at(refusal.producer), group_of.at(refusal.consumer));
  }
  for (size_t g = 0; g < plan.groups.size(); ++g) {
    for (Value input : plan.groups[g].inputs) {
      if (!uses.core(input.node) || chained(group_of.at(input.node), g)) continue;
      EXPECT_TRUE(explained.count({group_of.at(input.node), g})) << graph.NameOf(input) << "\n" << plan.ToText(graph);
    }
  }
}

TEST(PlanProperty, RandomGraphsGiveValidPlans) {
  int fused = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    Graph graph = RandomGraph(seed);
    absl::StatusOr<ShapeFacts> facts = ShapeFacts::Collect(graph);
    // Dim sizes may contradict each other, some only where both are simplified.
    absl::StatusOr<Graph> rewritten = facts.ok() ? Rewrite(graph, *facts) : facts.status();
    if (!rewritten.ok()) {
      ASSERT_TRUE(MayRefuse(graph, rewritten.status(), seed)) << rewritten.status() << "\n" << graph.ToText();
      continue;
    }
    absl::StatusOr<FusionPlan> plan = Fuse(*rewritten, *facts, TargetTraits());
    ASSERT_TRUE(plan.ok()) << plan.status() << "\n" << rewritten->ToText();
    ASSERT_EQ(VerifyFusionPlan(*plan, *rewritten), absl::OkStatus());
    ExpectReasons(*rewritten, *plan);
    ExpectAxesHaveTheirDimSizes(*rewritten, *facts, *plan);
    ExpectDependentsHaveAxes(*rewritten, *plan);
    if (HasFailure()) return;
    ++fused;
  }
  EXPECT_GT(fused, 350);
}

}  // namespace
}  // namespace tailor
