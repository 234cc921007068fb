#include "fusion/operand_map.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/text.h"

namespace tailor {
namespace {

// How the last node before the return reads operand `operand`: "0, other, 1" and "many" where it replicates.
std::string MapText(const std::string& body, int operand = 0) {
  absl::StatusOr<Graph> graph =
      ParseGraph(absl::StrCat("graph @g(%x: f32[B, 12, S], %v: f32[S], %r: f32[B, 1, S], %t: f32[T], "
                              "%i: i64[M, 1]) {\n",
                              body[0] == '%' ? "" : "%y = ", body, "\nreturn %y\n}"));
  EXPECT_TRUE(graph.ok()) << graph.status();
  absl::StatusOr<ShapeFacts> facts = ShapeFacts::Collect(*graph);
  EXPECT_TRUE(facts.ok()) << facts.status();
  OperandMap map = MapOperand(*graph, *facts, static_cast<NodeId>(graph->nodes().size()) - 1, operand);
  std::string dims = absl::StrJoin(map.dims, ", ", [](std::string* out, int d) {
    absl::StrAppend(out, d >= 0 ? absl::StrCat(d) : d == kUnitDim ? "unit" : d == kReducedDim ? "reduced" : "other");
  });
  return dims + (map.replicates ? " many" : "");
}

TEST(OperandMap, Elementwise) {
  EXPECT_EQ(MapText("exp %x"), "0, 1, 2");
  EXPECT_EQ(MapText("add %x, %v", 1), "2 many");
  EXPECT_EQ(MapText("add %x, %r", 1), "0, unit, 2 many");
  EXPECT_EQ(MapText("add %v, %t"), "other many");
}

TEST(OperandMap, Views) {
  EXPECT_EQ(MapText("transpose %x {permutation = [2, 0, 1]}"), "1, 2, 0");
  EXPECT_EQ(MapText("reshape %x {shape = [B, 3, 4, S]}"), "0, other, 3");
  EXPECT_EQ(MapText("reshape %r {shape = [1, B, S]}"), "1, unit, 2");
  EXPECT_EQ(MapText("broadcast %v {shape = [B, S]}"), "1 many");
  EXPECT_EQ(MapText("slice %x {starts = [0, 3, 0], sizes = [B, 4, S]}"), "0, other, 2");
  EXPECT_EQ(MapText("slice %x {starts = [0, 11, 0], sizes = [B, 12, S], steps = [1, -1, 1]}"), "0, other, 2");
}

TEST(OperandMap, PadsAndWindows) {
  EXPECT_EQ(MapText("%z = constant 0 : f32[]\n%y = pad %x, %z {low = [0, 1, 0], high = [0, 0, 0]}"), "0, other, 2");
  EXPECT_EQ(MapText("%z = constant 0 : f32[]\n%y = pad %x, %z {low = [0, 1, 0], high = [0, 0, 0]}", 1), " many");
  EXPECT_EQ(MapText("window %x {axes = [1, 2], sizes = [3, 1]}"), "0, other, 2 many");
  EXPECT_EQ(MapText("window %x {axes = [1], sizes = [3], strides = [3]}"), "0, other, 2");
  EXPECT_EQ(MapText("window %x {axes = [1], sizes = [2], strides = [2], dilations = [2]}"), "0, other, 2 many");
}

TEST(OperandMap, Lookups) {
  EXPECT_EQ(MapText("gather %x, %i {axis = 1}"), "0, other, 3 many");
  EXPECT_EQ(MapText("gather %x, %i {axis = 1}", 1), "1, unit many");
  EXPECT_EQ(MapText("concat %x, %x {axis = 1}", 1), "0, other, 2 many");
}

TEST(OperandMap, Reductions) {
  EXPECT_EQ(MapText("reduce_sum %x {axes = [1]}"), "0, reduced, 1");
  EXPECT_EQ(MapText("reduce_sum %x {axes = [0, 2], keep_dims = 1}"), "reduced, 1, reduced");
}

TEST(OperandMap, UnequalDimSizesNameTheFact) {
  Graph graph;
  SymbolInfo s, t;
  s.name = "S";
  t.name = "T";
  DimExpr a = DimExpr::Symbol(*graph.AddSymbol(s)), b = DimExpr::Symbol(*graph.AddSymbol(t));
  EXPECT_EQ(UnequalDimSizes(graph, a, b),
            "dim sizes S and T are not provably equal; assume_equal(S, T) would allow it");
  EXPECT_EQ(UnequalDimSizes(graph, a, DimExpr::Bcast(a, b)),
            "dim sizes S and T are not provably equal; assume_equal(S, T) would allow it");
  EXPECT_EQ(UnequalDimSizes(graph, 3, 4), "dim sizes 3 and 4 differ");
}

}  // namespace
}  // namespace tailor
