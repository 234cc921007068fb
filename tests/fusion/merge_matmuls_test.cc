#include "fusion/merge_matmuls.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "fusion/remove_dead_nodes.h"
#include "fusion/rewrites.h"
#include "graph/status_macros.h"
#include "graph/text.h"
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
  TAILOR_ASSIGN_OR_RETURN(Graph merged, MergeMatmuls(graph, facts));
  return RemoveDeadNodes(merged, facts);
}

// What the graph says after its first line.
std::string Merged(const std::string& graph_text) {
  const std::string text = TextAfter(MergeAndClean, graph_text);
  return text.substr(text.find('\n') + 1);
}

std::string Refused(const std::string& graph_text) { return RefusalLines(PlanTextAfter({ExplainMatmuls}, graph_text)); }

TEST(MergeMatmuls, ReadersGetSlices) {
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

TEST(MergeMatmuls, BiasesAreJoined) {
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

TEST(MergeMatmuls, AMissingBiasOrScaleIsNeutral) {
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

TEST(MergeMatmuls, NumbersThatAllShareStayNumbers) {
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

TEST(MergeMatmuls, TransposedMatrices) {
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

TEST(MergeMatmuls, LayersThatShareWeightsShareTheJoinedOnes) {
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

TEST(MergeMatmuls, OutputsStayApart) {
  EXPECT_EQ(Refused(Graph2(R"(  %b = reduce_max %e {axes = [2]}
  return %d, %b
)")),
            R"(refused %d -> %e in merge-matmuls: %d would have to be copied out of their result
)");
}

TEST(MergeMatmuls, ViewsThatAreOutputsStayApart) {
  EXPECT_EQ(Refused(Graph2(R"(  %t = transpose %d {permutation = [2, 0, 1]}
  %b = reduce_max %e {axes = [2]}
  return %t, %b
)")),
            R"(refused %d -> %e in merge-matmuls: %t would have to be copied out of their result
)");
}

TEST(MergeMatmuls, EpiloguesAreNotLost) {
  EXPECT_EQ(Refused(Graph2(R"(  %s = sigmoid %d
  %p = add %s, %y
  %b = reduce_max %e {axes = [2]}
  return %p, %b
)")),
            R"(refused %d -> %e in merge-matmuls: the readers of %d are fused with its matmul
)");
}

TEST(MergeMatmuls, JoinedRowsAreNoLinearIndex) {
  EXPECT_EQ(Refused(Graph2(R"(  %r = reshape %d {shape = [B, 3*S]}
  %a = reduce_max %r {axes = [1]}
  %b = reduce_max %e {axes = [2]}
  return %a, %b
)")),
            R"(refused %d -> %e in merge-matmuls: reshape %r joins columns with rows
)");
}

TEST(MergeMatmuls, WeightsAreStoredOnce) {
  EXPECT_EQ(Refused(Graph2(R"(  %f = dot %y, %w {transpose_rhs = 1}
  %a = reduce_max %d {axes = [2]}
  %b = reduce_max %e {axes = [2]}
  return %a, %b, %f
)")),
            R"(refused %d -> %e in merge-matmuls: constant %w has other readers, and would be stored twice
)");
}

TEST(MergeMatmuls, ResultsThatAreReadFarApartStayApart) {
  EXPECT_EQ(Refused(Graph2(R"(  %v = constant @v : f32[3, 1]
  %f = dot %d, %v
  %t = constant @t : f32[1, 2]
  %g = dot %f, %t
  %h = dot %g, %e {transpose_lhs = 1}
  %a = reduce_max %h {axes = [2]}
  return %a
)")),
            R"(refused %d -> %e in merge-matmuls: their results are read far apart
)");
}

// Two heads on one input: one's result as it is, behind every elementwise op that its element type takes, behind views
// and reductions; the other's likewise. All pairs where one result stays as it is, a sixteenth of the others.
std::vector<std::string> KindsOfHeads(const std::string& matmul, const std::string& dtype) {
  std::vector<std::string> heads = {""};
  for (const OpInfo& op : AllOps()) {
    if (op.fusion != FusionClass::kElementwise) continue;
    std::string attributes;
    if (op.kind == OpKind::kCast) attributes = " {dtype = f64}";
    if (op.kind == OpKind::kBitcast) attributes = dtype == "f32" ? " {dtype = i32}" : " {dtype = f32}";
    const auto line = [&](const std::vector<std::string>& operands) {
      heads.push_back(absl::StrCat(op.text, " ", absl::StrJoin(operands, ", "), attributes));
    };
    const std::string p = absl::StrCat("%", matmul);
    if (op.operands.size() == 1) line({p});
    if (op.operands.size() == 2) {
      for (const char* other : {"%half", "%row", "%column", "%z"}) line({p, other}), line({other, p});
      line({p, p});
    }
    if (op.operands.size() == 3) line({"%flag", p, "%half"}), line({"%flag", "%half", p}), line({"%flag", p, p});
  }
  for (const char* last : {"reduce_max %@ {axes = [1]}", "reduce_sum %@ {axes = [0]}", "reshape %@ {shape = [2*B]}",
                           "transpose %@ {permutation = [1, 0]}", "slice %@ {starts = [0, 0], sizes = [B, 1]}",
                           "scan %@ {axis = 0, combiner = \"add\"}", "dot %@, %square", "concat %@, %@ {axis = 1}"}) {
    heads.push_back(absl::StrReplaceAll(last, {{"@", matmul}}));
  }
  return heads;
}

TEST(MergeMatmuls, EveryTwoHeadsOfOneInput) {
  int valid = 0;
  for (const char* dtype : {"f32", "i32"}) {
    const std::vector<std::string> firsts = KindsOfHeads("d", dtype), seconds = KindsOfHeads("e", dtype);
    for (size_t i = 0; i < firsts.size(); ++i) {
      for (size_t j = 0; j < seconds.size(); ++j) {
        if (i != 0 && j != 0 && (i + j) % 16 != 0) continue;
        const std::string &first = firsts[i], &second = seconds[j];
        std::string body = absl::StrReplaceAll(R"(graph @g(%x: T[B, 2], %z: T[B, 2], %flag: bool[B, 2]) {
  %w = constant @w : T[2, 2]
  %u = constant @u : T[2, 2]
  %square = constant @square : T[2, 2]
  %row = constant @row : T[2]
  %column = constant @column : T[2, 1]
  %half = constant @half : T[]
  %d = dot %x, %w
  %e = dot %x, %u
)",
                                               {{"T[", absl::StrCat(dtype, "[")}});
        if (!first.empty()) absl::StrAppend(&body, "  %p = ", first, "\n");
        if (!second.empty()) absl::StrAppend(&body, "  %q = ", second, "\n");
        absl::StrAppend(&body, "  return ", first.empty() ? "%d" : "%p", ", ", second.empty() ? "%e" : "%q", "\n}");
        const auto graph = ParseGraph(body);
        if (!graph.ok()) continue;  // the op does not take the element type
        const auto facts = ShapeFacts::Collect(*graph);
        ASSERT_TRUE(facts.ok()) << facts.status() << "\n" << body;
        const auto rewritten = Rewrite(*graph, *facts);
        ASSERT_TRUE(rewritten.ok()) << rewritten.status() << "\n" << body;
        ++valid;
      }
    }
  }
  EXPECT_GT(valid, 2000);
}

TEST(MergeMatmuls, AnOpWithoutANeutralOperandIsNotLacked) {
  for (const char* op : {"neg", "tanh", "exp", "abs", "sqrt", "sigmoid"}) {
    EXPECT_EQ(Refused(Graph2(absl::StrCat("  %p = ", op, " %e\n  return %d, %p\n"))),
              R"(refused %d -> %e in merge-matmuls: %d would have to be copied out of their result
refused %d -> %e in merge-matmuls: the readers of %e are fused with its matmul
)") << op;
  }
}

// A reader that nothing needs is no reader: the value between a matmul and its bias is gone.
TEST(MergeMatmuls, DeadReadersOfWhatIsJoinedAreDropped) {
  const std::string joined = Merged(Graph2(R"(  %bias = constant [1, 2, 3] : f32[3]
  %dead = abs %d
  %p = add %d, %bias
  %a = reduce_max %p {axes = [2]}
  %b = reduce_max %e {axes = [2]}
  return %a, %b
)"));
  EXPECT_THAT(joined, testing::HasSubstr("slice"));
  EXPECT_THAT(joined, testing::Not(testing::HasSubstr("abs")));
}

}  // namespace
}  // namespace tailor
