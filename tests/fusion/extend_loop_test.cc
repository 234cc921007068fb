#include "fusion/extend_loop.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "fusion/absorb_views.h"
#include "fusion/form_group.h"
#include "fusion/fuse_elementwise.h"
#include "fusion/group_index.h"
#include "fusion/rewrites.h"
#include "tests/support/may_refuse.h"
#include "tests/support/random_graph.h"

namespace tailor {
namespace {

std::string TextOf(const Graph& graph, const FusionGroup& group) {
  FusionPlan plan;
  plan.groups.push_back(group);
  std::string text = plan.ToText(graph);
  for (const auto& [id, axes] : group.axis_of) {
    text += graph.NameOf({id, 0});
    for (int axis : axes) text += " " + std::to_string(axis);
    text += "\n";
  }
  return text;
}

// Joins loops as FuseElementwise does, and forms each joined one anew.
int CountExtensions(const Graph& graph, const ShapeFacts& facts) {
  const FusionContext context(graph, facts, TargetTraits{});
  auto plan = OneNodeGroups(context, std::vector<bool>(graph.nodes().size(), false));
  if (!plan.ok() || !AbsorbViews(context, *plan).ok()) return 0;
  GroupIndex index(context, *plan, "test");
  int extended = 0;
  for (int g = index.size() - 1; g >= 0; --g) {
    if (index.empty(g)) continue;
    for (int consumer : index.Consumers(g)) {
      std::vector<NodeId> core;
      std::merge(index.core(g).begin(), index.core(g).end(), index.core(consumer).begin(), index.core(consumer).end(),
                 std::back_inserter(core));
      FusionGroup group = index.group(consumer);
      if (ExtendLoop(context, index.uses(), index.group(g), group)) {
        ++extended;
        auto formed = FormGroup(context, index.uses(), core);
        EXPECT_TRUE(formed.ok()) << formed.status() << "\n" << TextOf(graph, group) << graph.ToText();
        if (!formed.ok()) continue;
        EXPECT_EQ(TextOf(graph, group), TextOf(graph, *formed)) << graph.ToText();
      }
      if (index.kind(g) == GroupKind::kLoop && index.kind(consumer) == GroupKind::kLoop) index.TryMerge(g, consumer);
    }
  }
  return extended;
}

TEST(ExtendLoop, GivesWhatFormGroupGives) {
  int extended = 0;
  for (uint64_t seed = 0; seed < 1500 && !testing::Test::HasFailure(); ++seed) {
    const Graph graph = RandomGraph(seed, {.control = seed % 3 == 0, .attention = seed % 5 == 0});
    const auto facts = ShapeFacts::Collect(graph);
    if (!facts.ok()) continue;
    const auto rewritten = Rewrite(graph, *facts);
    if (rewritten.ok()) extended += CountExtensions(*rewritten, *facts);
  }
  EXPECT_GT(extended, 500);
}

}  // namespace
}  // namespace tailor
