// Chains of matmul, rows and matmul become one plan if the algebra of the rows allows it; else their kernels stay
// separate, and the refusal gives the reason.
#include "codegen/lower/join_attention.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "codegen/lower/keep_joined_chains.h"
#include "codegen/lower/lower_graph.h"
#include "codegen/plan/attention.h"
#include "fusion/rewrites.h"
#include "graph/builders.h"
#include "graph/text.h"
#include "gtest/gtest.h"
#include "tests/codegen/lower/attention_case.h"

namespace tailor::lower {
namespace {

using Mask = AttentionCase::Mask;
using Layout = AttentionCase::Layout;

const TargetTraits kTraits = {.row_blocks = false,
                              .max_attention_row = 128,
                              .rows_in_place = false,
                              .free_index_arithmetic = true,
                              .winograd = false,
                              .device_panels = true};

// Kernels, launches and blocks of memory.
std::string JoinedProgram(const std::string& text) {
  auto parsed = ParseGraph(text);
  if (!parsed.ok()) return parsed.status().ToString();
  auto lowered = LowerGraph(*parsed, kTraits);
  if (!lowered.ok()) return lowered.status().ToString();
  std::string out = "\n";
  for (const KernelPlan& kernel : lowered->kernels) out += kernel.name + ": " + kernel.Text();
  const std::string host = lowered->programs[0].Text();
  for (size_t at = 0; at < host.size();) {
    const std::string line = host.substr(at, host.find('\n', at) + 1 - at);
    if (line.rfind("alloc", 0) == 0 || line.rfind("launch", 0) == 0) out += line;
    at += line.size();
  }
  return out;
}

// What stays a chain, or why it does not.
std::string Joined(const std::string& text) {
  const auto parsed = ParseGraph(text);
  if (!parsed.ok()) return parsed.status().ToString();
  const auto facts = ShapeFacts::Collect(*parsed);
  const auto graph = Rewrite(*parsed, *facts);
  auto plan = Fuse(*graph, *facts, kTraits);
  EXPECT_TRUE(plan.ok()) << plan.status();
  const absl::Status kept = KeepJoinedChains(0, *graph, *facts, kTraits, *plan);
  EXPECT_TRUE(kept.ok()) << kept;
  if (!plan->chains.empty()) return "joined";
  EXPECT_EQ(plan->refusals.size(), 2);
  return plan->refusals.empty() ? plan->ToText(*graph) : plan->refusals[0].reason;
}

std::string Half(const AttentionCase& form) {
  AttentionCase half = form;
  half.dtype = DType::kF16;
  return AttentionGraph(half);
}

std::string Replaced(const std::string& text, const std::string& from, const std::string& to) {
  EXPECT_NE(text.find(from), std::string::npos) << from;
  return absl::StrReplaceAll(text, {{from, to}});
}

TEST(JoinAttention, HeadsScaleAndMaskAreOneKernelWithoutScoresInMemory) {
  EXPECT_EQ(JoinedProgram(Half({.depth = 64, .mask = Mask::kAdditive, .layout = Layout::kHeadsInside})), R"(
g0_dot+g1_reduce_max+g2_dot: attention axes [a0: d0 parallel, a1: 2 parallel, a2: d1 parallel, a3: 64 parallel, a4: d2 contract, a5: 64 contract]
  m a2, v a3, n a4, d a5
  in b0: f16[d0, d1, 2, 64]
  in b1: f16[d0, d2, 2, 64]
  in b2: f16[d0, 1, 1, d2]
  in b3: f16[d0, d2, 2, 64]
  out b4: f16[d0, d1, 128]
  local b5: f32[]
  local b6: f32[]
  local b7: f32[]
  local b8: f32[]
  local b9: f32[]
  local b10: f32[]
  stage over [a5]
    b5[] = reduce add in f32 mul<f32>(b0[a0, a2, a1, a5], b1[a0, a4, a1, a5])
  stage over [a4]
    e0 = add(mul(cast<f16>(b5[]), f16:0x3400), b2[a0, 0, 0, a4])
    b7[] = reduce max in f32 e0
  stage over [a4]
    b6[] = exp(sub(cast<f32>(e0), b7[]))
    e1 = b6[]
    b8[] = reduce add in f32 e1
    b9[] = reduce add in f32 mul<f32>(cast<f16>(e1), b3[a0, a4, a1, a3])
  stage over []
    b10[] = mul(b9[], div(1f3f800000, b8[]))
  stage over []
    b4[a0, a2, ((a1 * 64) + a3)] = cast<f16>(b10[])
launch 0 g0_dot+g1_reduce_max+g2_dot(in0, in1, in3, in2, out0) dims [B, S, N]
)");
}

TEST(JoinAttention, AnyExpressionOfScores) {
  EXPECT_EQ(Joined(Half({.mask = Mask::kCausal})), "joined");
  EXPECT_EQ(Joined(AttentionGraph({.mask = Mask::kCausal})), "joined");
  EXPECT_EQ(Joined(Half({.mask = Mask::kBoolean})), "joined");
  EXPECT_EQ(Joined(Replaced(Half({}), "%scaled = mul %dots, %scale", "%t = tanh %dots\n  %scaled = mul %t, %scale")),
            "joined");
}

// Queries follow P earlier keys, and the mask is cut out of a table of which the shapes' checks say that it is as
// large.
TEST(JoinAttention, MasksSlicedFromATable) {
  std::string text = Replaced(Half({.mask = Mask::kBoolean}), "%mask: bool[B, 1, S, N]",
                              "%k0: f16[B, 2, P, 64], %table: bool[512, 512]");
  text = Replaced(text, "  %dots = dot %q, %k ", R"(  %keys = concat %k0, %k {axis = 2}
  %values = concat %k0, %v {axis = 2}
  %rows = slice %table {starts = [min(P, 512), 0], sizes = [max(0, min(P + S, 512) - min(P, 512)), 512]}
  %mask = slice %rows {starts = [0, 0], sizes = [max(0, min(P + S, 512) - min(P, 512)), min(P + S, 512)]}
  %dots = dot %q, %keys )");
  text = absl::StrReplaceAll(text, {{"dot %p, %v", "dot %p, %values"}, {"[B, 2, N, 64]", "[B, 2, S, 64]"}});
  EXPECT_EQ(Joined(text), "joined");
}

TEST(JoinAttention, ASoftmaxInAWiderType) {
  std::string text = Half({.mask = Mask::kBoolean});
  text = Replaced(text, "%top = reduce_max %scores", "%wide = cast %scores {dtype = f32}\n  %top = reduce_max %wide");
  text = Replaced(text, "sub %scores", "sub %wide");
  text = Replaced(text, "%mixed = dot %p", "%weights = cast %p {dtype = f16}\n  %mixed = dot %weights");
  EXPECT_EQ(Joined(text), "joined");
}

TEST(JoinAttention, WhatTheBuilderAppends) {
  for (const char* dtype : {"f16", "bf16", "f32"}) {
    Graph graph = *ParseGraph(absl::StrReplaceAll("graph @g(%q: T[B, 2, S, 64], %k: T[B, 2, N, 64]) { return }",
                                                  {{"T[", absl::StrCat(dtype, "[")}}));
    const auto y = Attention(graph, Value{0, 0}, Value{1, 0}, Value{1, 0}, Value{-1, 0}, 0);
    ASSERT_TRUE(y.ok()) << y.status();
    ASSERT_TRUE(graph.AddOutput("y", *y).ok());
    EXPECT_EQ(Joined(graph.ToText()), "joined") << dtype;
  }
}

TEST(JoinAttention, WeightsTimesFactorsOfElementsAndRows) {
  std::string text =
      Replaced(Half({}), "%v: f16[B, 2, N, 64]", "%v: f16[B, 2, N, 64], %kept: f16[S, N], %gate: f16[S, 1]");
  text = Replaced(text, "%p = div %e, %sum", "%e2 = mul %kept, %e\n  %p1 = div %e2, %sum\n  %p = mul %p1, %gate");
  EXPECT_EQ(Joined(text), "joined");
}

TEST(JoinAttention, OtherRowsStayApart) {
  EXPECT_EQ(Joined(Replaced(Half({}), "%e = exp %below", "%e = tanh %below")),
            "the rows reduce more than max(x) and the sum of exp(x - max(x))");
  EXPECT_EQ(Joined(Replaced(Half({}), "%below = sub %scaled, %top", "%below = sub %dots, %top")),
            "the rows reduce more than max(x) and the sum of exp(x - max(x))");
  EXPECT_EQ(Joined(Replaced(Half({}), "%p = div %e, %sum", "%p = div %sum, %e")),
            "the result of the rows is not exp(x - max(x)) times factors of elements or rows");
  EXPECT_EQ(Joined(Replaced(Half({}), "%p = div %e, %sum", "%q1 = div %e, %sum\n  %p = sqrt %q1")),
            "the result of the rows is not exp(x - max(x)) times factors of elements or rows");
}

TEST(JoinAttention, FactorsThatKernelsCannotHoldStayApart) {
  EXPECT_EQ(Joined(AttentionGraph({.dtype = DType::kF64})), "the scores are not summed in f32");
  EXPECT_EQ(Joined(Half({.depth = 136})), "the factors' rows have 136 elements, more than 128");
  EXPECT_EQ(Joined(Half({.columns = 129})), "the factors' rows have 129 elements, more than 128");
  EXPECT_EQ(Joined(Replaced(Half({.depth = 32}), ", 32]", ", D]")),
            "the dim size of the factors' rows is not known at compile time");
}

}  // namespace
}  // namespace tailor::lower
