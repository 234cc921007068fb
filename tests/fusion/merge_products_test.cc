#include "fusion/merge_products.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "fusion/remove_dead_nodes.h"
#include "graph/status_macros.h"
#include "tests/fusion/fused_text.h"

namespace tailor {
namespace {

// Two products of one operand.
std::string Graph2(const std::string& rest) {
  return absl::StrCat(R"(graph @g(%x: f32[B, S, 2], %y: f32[B, S, 3]) {
  %w = constant @w : f32[2, 3]
  %u = constant @u : f32[2, 1]
  %d = dot %x, %w
  %e = dot %x, %u
)",
                      rest, "}");
}

absl::StatusOr<Graph> MergeAndClean(const Graph& graph, const ShapeFacts& facts) {
  TAILOR_ASSIGN_OR_RETURN(Graph merged, MergeProducts(graph, facts));
  return RemoveDeadNodes(merged, facts);
}

// What the graph says after its first line.
std::string Merged(const std::string& graph_text) {
  const std::string text = TextAfter(MergeAndClean, graph_text);
  return text.substr(text.find('\n') + 1);
}

std::string Refused(const std::string& graph_text) {
  return RefusalLines(PlanTextAfter({ExplainProducts}, graph_text));
}

TEST(MergeProducts, ReadersGetSlices) {
  EXPECT_EQ(Merged(Graph2(R"(  %a = reduce_max %d {axes = [2]}
  %b = reduce_max %e {axes = [2]}
  return %a, %b
)")),
            R"(  %"w+u" = constant @"w+u" : f32[2, 4] hash 122650f7ca4adb6f
  %3 = dot %x, %"w+u" : f32[B, S, 4]
  %d = slice %3 {starts = [0, 0, 0], sizes = [B, S, 3]} : f32[B, S, 3]
  %e = slice %3 {starts = [0, 0, 3], sizes = [B, S, 1]} : f32[B, S, 1]
  %a = reduce_max %d {axes = [2]} : f32[B, S]
  %b = reduce_max %e {axes = [2]} : f32[B, S]
  return %a, %b
}
)");
}

TEST(MergeProducts, BiasesAreJoined) {
  EXPECT_EQ(Merged(Graph2(R"(  %bias = constant [1, 2, 3] : f32[3]
  %p = add %d, %bias
  %one = constant [4] : f32[1]
  %q = add %one, %e
  %a = reduce_max %p {axes = [2]}
  %b = reduce_max %q {axes = [2]}
  return %a, %b
)")),
            R"(  %"w+u" = constant @"w+u" : f32[2, 4] hash 122650f7ca4adb6f
  %3 = dot %x, %"w+u" : f32[B, S, 4]
  %"[1, 2, 3]+[4]" = constant @"[1, 2, 3]+[4]" [1, 2, 3, 4] : f32[4]
  %5 = add %3, %"[1, 2, 3]+[4]" : f32[B, S, 4]
  %p = slice %5 {starts = [0, 0, 0], sizes = [B, S, 3]} : f32[B, S, 3]
  %q = slice %5 {starts = [0, 0, 3], sizes = [B, S, 1]} : f32[B, S, 1]
  %a = reduce_max %p {axes = [2]} : f32[B, S]
  %b = reduce_max %q {axes = [2]} : f32[B, S]
  return %a, %b
}
)");
}

TEST(MergeProducts, AMissingBiasOrScaleIsNeutral) {
  EXPECT_EQ(Merged(Graph2(R"(  %bias = constant [1, 2, 3] : f32[3]
  %p = add %d, %bias
  %half = constant 0.5 : f32[]
  %q = mul %e, %half
  %a = reduce_max %p {axes = [2]}
  %b = reduce_max %q {axes = [2]}
  return %a, %b
)")),
            R"(  %"w+u" = constant @"w+u" : f32[2, 4] hash 122650f7ca4adb6f
  %3 = dot %x, %"w+u" : f32[B, S, 4]
  %"[1, 2, 3]" = constant @"[1, 2, 3]" [1, 2, 3, -0] : f32[4]
  %5 = add %3, %"[1, 2, 3]" : f32[B, S, 4]
  %"0.5" = constant @"0.5" [1, 1, 1, 0.5] : f32[4]
  %7 = mul %5, %"0.5" : f32[B, S, 4]
  %p = slice %7 {starts = [0, 0, 0], sizes = [B, S, 3]} : f32[B, S, 3]
  %q = slice %7 {starts = [0, 0, 3], sizes = [B, S, 1]} : f32[B, S, 1]
  %a = reduce_max %p {axes = [2]} : f32[B, S]
  %b = reduce_max %q {axes = [2]} : f32[B, S]
  return %a, %b
}
)");
}

TEST(MergeProducts, NumbersThatAllShareStayNumbers) {
  EXPECT_EQ(Merged(Graph2(R"(  %zero = constant 0 : f32[]
  %p = max %d, %zero
  %q = max %e, %zero
  %a = reduce_max %p {axes = [2]}
  %b = reduce_max %q {axes = [2]}
  return %a, %b
)")),
            R"(  %"w+u" = constant @"w+u" : f32[2, 4] hash 122650f7ca4adb6f
  %3 = dot %x, %"w+u" : f32[B, S, 4]
  %"0" = constant 0 : f32[]
  %5 = max %3, %"0" : f32[B, S, 4]
  %p = slice %5 {starts = [0, 0, 0], sizes = [B, S, 3]} : f32[B, S, 3]
  %q = slice %5 {starts = [0, 0, 3], sizes = [B, S, 1]} : f32[B, S, 1]
  %a = reduce_max %p {axes = [2]} : f32[B, S]
  %b = reduce_max %q {axes = [2]} : f32[B, S]
  return %a, %b
}
)");
}

TEST(MergeProducts, TransposedMatrices) {
  EXPECT_EQ(Merged(R"(
graph @g(%x: f32[B, 2]) {
  %w = constant @w : f32[2, 2]
  %u = constant @u : f32[1, 2]
  %t = transpose %w {permutation = [1, 0]}
  %d = dot %x, %t
  %e = dot %x, %u {transpose_rhs = 1}
  %a = reduce_max %d {axes = [1]}
  %b = reduce_max %e {axes = [1]}
  return %a, %b
})"),
            R"(  %"w+u" = constant @"w+u" : f32[3, 2] hash 9721be2d43b246d2
  %2 = dot %x, %"w+u" {transpose_rhs = 1} : f32[B, 3]
  %d = slice %2 {starts = [0, 0], sizes = [B, 2]} : f32[B, 2]
  %e = slice %2 {starts = [0, 2], sizes = [B, 1]} : f32[B, 1]
  %a = reduce_max %d {axes = [1]} : f32[B]
  %b = reduce_max %e {axes = [1]} : f32[B]
  return %a, %b
}
)");
}

TEST(MergeProducts, LayersThatShareWeightsShareTheJoinedOnes) {
  EXPECT_EQ(Merged(R"(
graph @g(%x: f32[B, 2], %y: f32[B, 2]) {
  %w = constant @w : f32[2, 1]
  %u = constant @u : f32[2, 1]
  %d = dot %x, %w
  %e = dot %x, %u
  %f = dot %y, %w
  %g = dot %y, %u
  %a = reduce_max %d {axes = [0]}
  %b = reduce_max %e {axes = [0]}
  %c = reduce_max %f {axes = [0]}
  %h = reduce_max %g {axes = [0]}
  return %a, %b, %c, %h
})"),
            R"(  %"w+u" = constant @"w+u" : f32[2, 2] hash 1b928673f65950ce
  %3 = dot %x, %"w+u" : f32[B, 2]
  %d = slice %3 {starts = [0, 0], sizes = [B, 1]} : f32[B, 1]
  %e = slice %3 {starts = [0, 1], sizes = [B, 1]} : f32[B, 1]
  %6 = dot %y, %"w+u" : f32[B, 2]
  %f = slice %6 {starts = [0, 0], sizes = [B, 1]} : f32[B, 1]
  %g = slice %6 {starts = [0, 1], sizes = [B, 1]} : f32[B, 1]
  %a = reduce_max %d {axes = [0]} : f32[1]
  %b = reduce_max %e {axes = [0]} : f32[1]
  %c = reduce_max %f {axes = [0]} : f32[1]
  %h = reduce_max %g {axes = [0]} : f32[1]
  return %a, %b, %c, %h
}
)");
}

TEST(MergeProducts, OutputsStayApart) {
  EXPECT_EQ(Refused(Graph2(R"(  %b = reduce_max %e {axes = [2]}
  return %d, %b
)")),
            R"(refused %d -> %e in merge-products: %d would have to be copied out of their result
)");
}

TEST(MergeProducts, ViewsThatAreOutputsStayApart) {
  EXPECT_EQ(Refused(Graph2(R"(  %t = transpose %d {permutation = [2, 0, 1]}
  %b = reduce_max %e {axes = [2]}
  return %t, %b
)")),
            R"(refused %d -> %e in merge-products: %t would have to be copied out of their result
)");
}

TEST(MergeProducts, EpiloguesAreNotLost) {
  EXPECT_EQ(Refused(Graph2(R"(  %s = sigmoid %d
  %p = add %s, %y
  %b = reduce_max %e {axes = [2]}
  return %p, %b
)")),
            R"(refused %d -> %e in merge-products: what reads %d is part of its product's kernel
)");
}

TEST(MergeProducts, JoinedRowsAreNoLinearIndex) {
  EXPECT_EQ(Refused(Graph2(R"(  %r = reshape %d {shape = [B, 3*S]}
  %a = reduce_max %r {axes = [1]}
  %b = reduce_max %e {axes = [2]}
  return %a, %b
)")),
            R"(refused %d -> %e in merge-products: reshape %r joins columns with rows
)");
}

TEST(MergeProducts, WeightsAreStoredOnce) {
  EXPECT_EQ(Refused(Graph2(R"(  %f = dot %y, %w {transpose_rhs = 1}
  %a = reduce_max %d {axes = [2]}
  %b = reduce_max %e {axes = [2]}
  return %a, %b, %f
)")),
            R"(refused %d -> %e in merge-products: constant %w has other readers, and would be stored twice
)");
}

TEST(MergeProducts, ResultsThatAreReadFarApartStayApart) {
  EXPECT_EQ(Refused(Graph2(R"(  %v = constant @v : f32[3, 1]
  %f = dot %d, %v
  %t = constant @t : f32[1, 2]
  %g = dot %f, %t
  %h = dot %g, %e {transpose_lhs = 1}
  %a = reduce_max %h {axes = [2]}
  return %a
)")),
            R"(refused %d -> %e in merge-products: their results are read far apart
)");
}

}  // namespace
}  // namespace tailor
