#include "fusion/axis_propagation.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "fusion/form_group.h"
#include "graph/text.h"

namespace tailor {
namespace {

// Joins all core nodes into one group and prints the axes of each, or the reason against it.
std::string AxesText(const std::string& graph_text) {
  absl::StatusOr<Graph> graph = ParseGraph(graph_text);
  if (!graph.ok()) return graph.status().ToString();
  absl::StatusOr<ShapeFacts> facts = ShapeFacts::Collect(*graph);
  if (!facts.ok()) return facts.status().ToString();
  std::vector<bool> floating(graph->nodes().size(), false);
  for (size_t id = 0; id < floating.size(); ++id) {
    floating[id] = InfoOf(graph->nodes()[id].op).fusion == FusionClass::kView;
  }
  Uses uses(*graph, floating);
  std::vector<NodeId> core;
  for (NodeId id = 0; id < static_cast<NodeId>(floating.size()); ++id) {
    if (uses.core(id)) core.push_back(id);
  }
  TargetTraits traits;
  absl::StatusOr<FusionGroup> group = FormGroup({*graph, *facts, traits}, uses, core);
  if (!group.ok()) return std::string(group.status().message());
  std::string text;
  for (const auto& [id, axes] : group->axis_of) {
    absl::StrAppend(&text, graph->NameOf({id, 0}), " [", absl::StrJoin(axes, ", "), "]");
    auto reduced = group->reduce_axes.find(id);
    if (reduced != group->reduce_axes.end()) {
      absl::StrAppend(&text, " reduces [", absl::StrJoin(reduced->second, ", "), "]");
    }
    text += "\n";
  }
  return text;
}

TEST(AxisPropagation, GroupDimsAndTileDims) {
  EXPECT_EQ(AxesText(R"(
graph @g(%x: f32[C, A, B], %y: f32[A, B, C], %row: f32[A, B]) {
  %s = reduce_sum %x {axes = [0]}
  %t = transpose %y {permutation = [2, 0, 1]}
  %u = mul %t, %s
  %v = exp %u
  %m = reduce_max %v {axes = [0], keep_dims = 1}
  %r = reshape %row {shape = [1, A, B]}
  %a = add %m, %r
  %z = sub %v, %a
  return %z
})"),
            R"(%s [0, 1] reduces [2]
%u [2, 0, 1]
%v [2, 0, 1]
%m [-1, 0, 1] reduces [2]
%a [-1, 0, 1]
%z [2, 0, 1]
)");
}

TEST(AxisPropagation, ReducedAxesKeepTheOrderOfTheOperand) {
  EXPECT_EQ(AxesText(R"(
graph @g(%x: f32[B, H, W]) {
  %s = reduce_sum %x {axes = [1, 2], keep_dims = 1}
  %c = sub %x, %s
  %t = transpose %c {permutation = [2, 1, 0]}
  %m = reduce_max %t {axes = [0, 1]}
  return %m
})"),
            R"(%s [0, -1, -1] reduces [1, 2]
%c [0, 1, 2]
%m [0] reduces [2, 1]
)");
}

TEST(AxisPropagation, WhatIsReadAtOtherIndicesHasNoAxes) {
  EXPECT_EQ(AxesText(R"(
graph @g(%x: f32[N, 9], %i: i64[N]) {
  %e = neg %x
  %s = slice %e {starts = [0, 1], sizes = [N, 8]}
  %m = reduce_max %s {axes = [1]}
  return %m
})"),
            R"(%m [0] reduces [1]
)");
}

TEST(AxisPropagation, AReductionIsNotReadAtOtherRows) {
  EXPECT_EQ(AxesText(R"(
graph @g(%x: f32[N, N]) {
  %s = reduce_sum %x {axes = [1], keep_dims = 1}
  %t = transpose %s {permutation = [1, 0]}
  %a = add %s, %t
  %y = mul %a, %x
  return %y
})"),
            "dim 1 of %y is no axis of the domain [N | N]");
}

TEST(AxisPropagation, OneSetOfTileAxes) {
  EXPECT_EQ(AxesText(R"(
graph @g(%x: f32[A, B, C]) {
  %s = reduce_sum %x {axes = [1, 2], keep_dims = 1}
  %c = sub %x, %s
  %m = reduce_max %c {axes = [2]}
  return %m
})"),
            "%m covers neither the domain [A | B, C] nor its rows");
}

TEST(AxisPropagation, CheapChainsHaveALimit) {
  std::string graph = "graph @g(%x: f32[N, 1], %y: f32[N, M]) {\n  %a0 = neg %x\n";
  for (int i = 1; i < 9; ++i) absl::StrAppend(&graph, "  %a", i, " = neg %a", i - 1, "\n");
  graph += "  %z = add %a8, %y\n  return %z\n}\n";
  EXPECT_EQ(AxesText(graph), "more than 8 nodes before %a8 would be computed again for many readers");
}

// Neighbours of the innermost dim have indices of their own; along an outer dim one index serves a row.
TEST(AxisPropagation, IndicesOfNeighboursAreComputedOnce) {
  const auto gathered = [](int axis, int nodes) {
    std::string graph = "graph @g(%x: f32[N, M], %a0: i64[K]) {\n";
    for (int i = 1; i <= nodes; ++i) absl::StrAppend(&graph, "  %a", i, " = abs %a", i - 1, "\n");
    absl::StrAppend(&graph, "  %y = gather %x, %a", nodes, " {axis = ", axis, "}\n  return %y\n}\n");
    return AxesText(graph);
  };
  constexpr char kRefused[] = "more than 1 nodes before %a2 would compute an index again for many elements";
  EXPECT_EQ(gathered(1, 2), kRefused);
  EXPECT_EQ(gathered(-1, 2), kRefused);
  EXPECT_NE(gathered(1, 1), kRefused);
  EXPECT_NE(gathered(0, 2), kRefused);
}

TEST(AxisPropagation, EpiloguesKeepTheOrderOfTheMatmul) {
  EXPECT_EQ(AxesText(R"(
graph @g(%x: f32[M, K], %w: f32[K, M]) {
  %d = dot %x, %w
  %t = transpose %d {permutation = [1, 0]}
  %y = mul %d, %t
  return %y
})"),
            "%d is read at other elements");
}

}  // namespace
}  // namespace tailor
