#include "codegen/lower/alias_buffers.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/host/memory_plan.h"
#include "codegen/lower/lower_graph.h"
#include "codegen/lower/lowered_program.h"
#include "gmock/gmock.h"
#include "graph/text.h"
#include "gtest/gtest.h"
#include "tests/codegen/plan/loop_plans.h"
#include "tests/fusion/encoder_graph.h"

namespace tailor::lower {
namespace {

LoweredProgram ProgramOf(const std::string& text, const std::vector<bool>& donated = {}) {
  auto graph = ParseGraph(text);
  auto lowered = graph.ok() ? LowerGraph(*graph, TargetTraits{}, {donated}) : graph.status();
  if (lowered.ok()) return *std::move(lowered);
  ADD_FAILURE() << lowered.status();
  return {};
}

// The block of each workspace buffer, in order: "w0 w0 w1".
std::string Blocks(const std::string& text) {
  const LoweredProgram lowered = ProgramOf(text);
  std::string blocks;
  for (const host::HostBuffer& buffer : lowered.programs[0].buffers) {
    if (buffer.place == host::HostBuffer::Place::kWorkspace)
      absl::StrAppend(&blocks, blocks.empty() ? "w" : " w", buffer.index);
  }
  return blocks;
}

// `body` computes %y from %d, the result of a matmul; another matmul reads it.
std::string BetweenMatmuls(const std::string& body) {
  return Blocks(absl::StrCat(R"(graph @g(%x: f32[B, S, 8], %i: i64[8]) {
  %w = constant @w : f32[8, 8]
  %d = dot %x, %w
)",
                             body, "  return %z\n}"));
}

TEST(AliasBuffers, RowsAreWrittenOverWhatTheyAreComputedFrom) {
  EXPECT_EQ(BetweenMatmuls(R"(
  %m = reduce_max %d {axes = [2], keep_dims = 1}
  %s = sub %d, %m
  %y = exp %s
  %z = dot %y, %w
)"),
            "w0 w0");
}

TEST(CanAlias, WhatIsReadAtTheSameIndex) {
  EXPECT_TRUE(CanAlias(BiasTanhPlan(), 0, 2));
  EXPECT_FALSE(CanAlias(BiasTanhPlan(), 1, 2));
  EXPECT_TRUE(CanAlias(RowSoftmaxPlan(), 0, 1));
  EXPECT_FALSE(CanAlias(GatherRowsPlan(), 0, 2));
}

TEST(CanAlias, OnlyWhereEachElementIsWrittenOnce) {
  KernelPlan plan = ParsedPlan(R"(
kernel axes [a0: d0 parallel, a1: d1 tile]
  in b0: f32[d0]
  out b1: f32[d0]
  stage over []
    b1[a0] = neg(b0[a0])
)");
  EXPECT_TRUE(CanAlias(plan, 0, 1));
  plan.stages[0].axes = {1};
  EXPECT_FALSE(CanAlias(plan, 0, 1));
  plan.axes[1].role = AxisRole::kParallel;
  plan.stages[0].axes = {};
  EXPECT_FALSE(CanAlias(plan, 0, 1));
  plan.axes[1].role = AxisRole::kOrdered;
  EXPECT_FALSE(CanAlias(plan, 0, 1));
}

TEST(AliasBuffers, NotWhatIsReadAgainLater) {
  EXPECT_EQ(BetweenMatmuls(R"(
  %m = reduce_max %d {axes = [2], keep_dims = 1}
  %s = sub %d, %m
  %y = exp %s
  %p = dot %y, %w
  %z = add %p, %d
)"),
            "w0 w1");
}

TEST(AliasBuffers, NotWhatIsReadElsewhere) {
  EXPECT_EQ(BetweenMatmuls(R"(
  %g = gather %d, %i {axis = 2}
  %m = reduce_max %g {axes = [2], keep_dims = 1}
  %y = sub %g, %m
  %z = dot %y, %w
)"),
            "w0 w1");
}

TEST(AliasBuffers, NotOfAnotherWidth) {
  EXPECT_EQ(BetweenMatmuls(R"(
  %m = reduce_max %d {axes = [2], keep_dims = 1}
  %s = sub %d, %m
  %c = cast %s {dtype = f64}
  %v = constant @v : f64[8, 8]
  %z = dot %c, %v
)"),
            "w0 w1");
}

TEST(AliasBuffers, NotBesideAnotherOutput) {
  EXPECT_EQ(BetweenMatmuls(R"(
  %m = reduce_max %d {axes = [2], keep_dims = 1}
  %s = sub %d, %m
  %y = exp %s
  %p = dot %y, %w
  %q = dot %s, %w {transpose_rhs = 1}
  %z = add %p, %q
)"),
            "w0 w1 w2 w3");
}

// The host program of `text`, whose first input is donated.
std::string Donated(const std::string& text) { return ProgramOf(text, {true}).programs[0].Text(); }

TEST(AliasBuffers, AnElementwiseChainStaysInADonatedInput) {
  EXPECT_EQ(Donated(R"(
graph @g(%x: f32[N, 8], %b: f32[8]) {
  %s = add %x, %b
  %y = tanh %s
  return "y" = %y
})"),
            "bind N = input 0 dim 0\n"
            "check 0: input 0 dim 1 == 8\n"
            "check 1: input 1 dim 0 == 8\n"
            "check 2: N <= 2147483647\n"
            "output 0 [N, 8] in the memory of input 0\n"
            "launch 0 g0_tanh(in0, in1, out0) dims [N]\n");
}

// The left operand of the matmul is written over the input that it is computed from.
TEST(AliasBuffers, WhatLiesBetweenIsInADonatedInputToo) {
  const std::string text = Donated(R"(
graph @g(%x: f32[N, 8], %i: i64[8]) {
  %w = constant @w : f32[8, 8]
  %m = reduce_max %x {axes = [1], keep_dims = 1}
  %t = sub %x, %m
  %d = dot %t, %w
  return "y" = %d
})");
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("alloc")));
  EXPECT_THAT(text, testing::HasSubstr("launch 0 g0_reduce_max(in0, in0)"));
}

TEST(AliasBuffers, NotADonatedInputThatIsReadAgainLater) {
  const std::string text = Donated(R"(
graph @g(%x: f32[N, 8]) {
  %w = constant @w : f32[8, 8]
  %y = tanh %x
  %d = dot %x, %w
  return "y" = %y, "d" = %d
})");
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("memory of")));
}

// The scatter updates the input's memory without naming it as an operand.
TEST(AliasBuffers, NotADonatedInputThatIsUpdatedInPlaceLater) {
  const std::string text = Donated(R"(
graph @g(%x: f32[N, 8], %i: i64[1, 1], %row: f32[1, 8]) {
  %t = tanh %x
  %w = constant @w : f32[8, 8]
  %d = dot %t, %w
  %u = dot %w, %t {transpose_rhs = 1}
  %y = scatter %x, %i, %row {combiner = "add"}
  return "d" = %d, "u" = %u, "y" = %y
})");
  EXPECT_THAT(text, testing::HasSubstr("output 2 [N, 8] in the memory of input 0"));
  EXPECT_THAT(text, testing::HasSubstr("g0_tanh(in0, w0)"));
  const std::string both = Donated(R"(
graph @g(%x: f32[N, 8], %i: i64[1, 1], %row: f32[1, 8]) {
  %a = scatter %x, %i, %row {combiner = "set"}
  %b = scatter %x, %i, %row {combiner = "add"}
  return "a" = %a, "b" = %b
})");
  EXPECT_THAT(both, testing::HasSubstr("output 1 [N, 8] in the memory of input 0"));
  EXPECT_THAT(both, testing::Not(testing::HasSubstr("output 0 [N, 8] in the memory")));
}

TEST(AliasBuffers, NotAnInputThatIsNotDonated) {
  EXPECT_THAT(ProgramOf(R"(
graph @g(%x: f32[N, 8]) {
  %y = tanh %x
  return "y" = %y
})")
                  .programs[0]
                  .Text(),
              testing::Not(testing::HasSubstr("memory of")));
}

TEST(AliasBuffers, AnOutputOfAnotherTypeHasMemoryOfItsOwn) {
  EXPECT_THAT(Donated(R"(
graph @g(%x: f32[N, 8]) {
  %y = cast %x {dtype = i32}
  return "y" = %y
})"),
              testing::Not(testing::HasSubstr("memory of")));
}

// One launch: no copy of the cache.
TEST(AliasBuffers, ACacheIsUpdatedWhereItIs) {
  const std::string text = Donated(R"(
graph @g(%cache: f32[S, 8], %at: i64[1, 1], %row: f32[1, 8]) {
  %next = scatter %cache, %at, %row {combiner = "set"}
  return "next" = %next
})");
  EXPECT_THAT(text, testing::HasSubstr("output 0 [S, 8] in the memory of input 0"));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("copy")));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("launch 1")));
}

TEST(AliasBuffers, ACacheIsUpdatedTwice) {
  const std::string text = Donated(R"(
graph @g(%cache: f32[S, 8], %at: i64[1, 1], %row: f32[1, 8], %to: i64[1, 1]) {
  %first = scatter %cache, %at, %row {combiner = "set"}
  %next = scatter %first, %to, %row {combiner = "add"}
  return "next" = %next
})");
  EXPECT_THAT(text, testing::HasSubstr("output 0 [S, 8] in the memory of input 0"));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("copy")));
}

// What it was before is an output too.
TEST(AliasBuffers, NotACacheThatIsAlsoReadAsItWas) {
  const std::string text = Donated(R"(
graph @g(%cache: f32[S, 8], %at: i64[1, 1], %row: f32[1, 8]) {
  %next = scatter %cache, %at, %row {combiner = "set"}
  %before = neg %cache
  return "next" = %next, "before" = %before
})");
  EXPECT_THAT(text, testing::HasSubstr("copy"));
}

// Softmax and layer norms are written over the scores and sums that they normalize; attention is kept in three kernels.
TEST(AliasBuffers, AnEncoderNeedsLessMemory) {
  EncoderGraph e;
  const auto lowered = LowerGraph(e.Return(e.Encoder(2)), TargetTraits{.row_blocks = false});
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  std::vector<host::WorkspaceBlock> apart, shared;
  std::vector<int64_t> sizes_apart, sizes_shared;
  const std::vector<int64_t> dims = {8, 256};  // B, S
  for (const host::HostBuffer& buffer : lowered->programs[0].buffers) {
    if (buffer.place != host::HostBuffer::Place::kWorkspace) continue;
    apart.push_back({host::BytesOf(buffer), {buffer.first_step, buffer.last_step}});
    sizes_apart.push_back(*host::BytesOf(buffer).Evaluate(dims));
    if (buffer.index == static_cast<int>(shared.size())) {
      shared.push_back(apart.back());
      sizes_shared.push_back(sizes_apart.back());
    }
    LiveInterval& live = shared[buffer.index].live;
    live = {std::min(live.first, buffer.first_step), std::max(live.last, buffer.last_step)};
  }
  EXPECT_EQ(shared.size(), lowered->programs[0].memory.order.size());
  EXPECT_LT(shared.size(), apart.size());
  EXPECT_LT(host::LiveMaximum(shared, sizes_shared), 0.7 * host::LiveMaximum(apart, sizes_apart));
}

}  // namespace
}  // namespace tailor::lower
