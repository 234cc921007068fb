#include <gtest/gtest.h>

#include <functional>

#include "fusion/fusion_plan.h"
#include "graph/text.h"

namespace tailor {
namespace {

// The verifier's message after `damage` to a valid plan of a row group, a loop and a matmul.
std::string Damaged(const std::function<void(FusionPlan&)>& damage) {
  absl::StatusOr<Graph> graph = ParseGraph(R"(
graph @g(%x: f32[M, K], %w: f32[K, N]) {
  %m = reduce_max %x {axes = [1], keep_dims = 1}
  %s = sub %x, %m
  %d = dot %s, %w
  %t = transpose %d {permutation = [1, 0]}
  return %t
})");
  absl::StatusOr<ShapeFacts> facts = ShapeFacts::Collect(*graph);
  absl::StatusOr<FusionPlan> plan = Fuse(*graph, *facts, TargetTraits());
  EXPECT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->groups.size(), 2u);
  damage(*plan);
  return std::string(VerifyFusionPlan(*plan, *graph).message());
}

TEST(PlanVerifier, AcceptsWhatFuseMakes) {
  EXPECT_EQ(Damaged([](FusionPlan&) {}), "");
}

TEST(PlanVerifier, Order) {
  EXPECT_EQ(Damaged([](FusionPlan& p) { std::swap(p.groups[0], p.groups[1]); }),
            "fusion plan: g0: reads %s, which no earlier group writes");
}

TEST(PlanVerifier, OneGroupEach) {
  EXPECT_EQ(Damaged([](FusionPlan& p) { p.groups.push_back(p.groups[0]); }), "fusion plan: g2: %m is in g0 too");
  EXPECT_EQ(Damaged([](FusionPlan& p) { p.groups.pop_back(); }), "fusion plan: no group has %d");
}

TEST(PlanVerifier, InputsAndOutputs) {
  EXPECT_EQ(Damaged([](FusionPlan& p) { p.groups[0].inputs.clear(); }),
            "fusion plan: g0: inputs are not the values that its nodes read");
  EXPECT_EQ(Damaged([](FusionPlan& p) {
              p.groups[0].outputs.push_back({2, 0});
            }),
            "fusion plan: g0: outputs are not the values that others read");
}

TEST(PlanVerifier, Axes) {
  EXPECT_EQ(Damaged([](FusionPlan& p) {
              p.groups[0].axis_of.begin()->second = {5, -1};
            }),
            "fusion plan: g0: %m has no such axis");
  EXPECT_EQ(Damaged([](FusionPlan& p) {
              p.groups[0].axis_of.rbegin()->second = {0, 0};
            }),
            "fusion plan: g0: %s has an axis twice");
  EXPECT_EQ(Damaged([](FusionPlan& p) { p.groups[0].reduce_axes.clear(); }),
            "fusion plan: g0: %m has the wrong reduce axes");
  EXPECT_EQ(Damaged([](FusionPlan& p) { std::swap(p.groups[0].axes[0], p.groups[0].axes[1]); }),
            "fusion plan: g0: a group dim follows a tile dim");
}

TEST(PlanVerifier, Kinds) {
  EXPECT_EQ(Damaged([](FusionPlan& p) { p.groups[0].kind = GroupKind::kLoop; }), "fusion plan: g0: has the wrong kind");
  EXPECT_EQ(Damaged([](FusionPlan& p) {
              p.groups[1].trailing_views = {4, 4};
            }),
            "fusion plan: g1: %d is no trailing view of it");
}

}  // namespace
}  // namespace tailor
