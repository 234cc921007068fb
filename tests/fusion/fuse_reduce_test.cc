#include "fusion/fuse_reduce.h"

#include <gtest/gtest.h>

#include "fusion/absorb_views.h"
#include "fusion/fuse_elementwise.h"
#include "tests/fusion/fused_text.h"

namespace tailor {
namespace {

std::string Reductions(const std::string& graph_text) {
  return PlanTextAfter({AbsorbViews, FuseElementwise, FuseReduce}, graph_text);
}

TEST(FuseReduce, TakesWhatItReduces) {
  EXPECT_EQ(
      Reductions(R"(
graph @g(%x: f32[B, S, 384], %m: f32[B, S]) {
  %m3 = reshape %m {shape = [B, S, 1]}
  %e = exp %x
  %p = mul %e, %m3
  %s = reduce_sum %p {axes = [1]}
  return %s
})"),
      R"(g0 row [B, 384 | S] in(%x, %m) out(%s) { %m3 = reshape %m; %e = exp %x; %p = mul %e, %m3; %s = reduce_sum %p }
)");
}

TEST(FuseReduce, APoolIsOneRowGroup) {
  EXPECT_EQ(Reductions(R"(
graph @g(%x: f32[N, C, H, W]) {
  %least = constant -inf : f32[]
  %p = pad %x, %least {low = [0, 0, 1, 1], high = [0, 0, 1, 1]}
  %w = window %p {axes = [2, 3], sizes = [3, 3]}
  %y = reduce_max %w {axes = [4, 5]}
  return %y
})"),
            R"(g0 row [N, C, H, W | 3, 3] in(%x) out(%y) { %p = pad %x, -inf; %w = window %p; %y = reduce_max %w }
)");
}

TEST(FuseReduce, ASharedProducerBecomesAnOutput) {
  EXPECT_EQ(Reductions(R"(
graph @g(%x: f32[N, M]) {
  %e = exp %x
  %s = reduce_sum %e {axes = [1]}
  return %e, %s
})"),
            R"(g0 row [N | M] in(%x) out(%e, %s) { %e = exp %x; %s = reduce_sum %e }
)");
}

TEST(FuseReduce, AnExpensiveTileVectorIsNotRepeatedForEachRow) {
  EXPECT_EQ(Reductions(R"(
graph @g(%x: f32[N, M], %v: f32[M]) {
  %e = exp %v
  %p = mul %x, %e
  %s = reduce_sum %p {axes = [1]}
  return %s
})"),
            R"(g0 loop [M] in(%v) out(%e) { %e = exp %v }
g1 row [N | M] in(%x, %e) out(%s) { %p = mul %x, %e; %s = reduce_sum %p }
refused %e -> %p in fuse-elementwise: %e (exp) would be computed again for many readers
refused %e -> %p in fuse-reduce: %e (exp) would be computed again for many readers
)");
}

TEST(FuseReduce, LooseLoopsStayWhereLessCrossesMemory) {
  EXPECT_EQ(Reductions(R"(
graph @g(%x: f32[N, M], %y: f32[N, M]) {
  %r = reduce_max %x {axes = [1], keep_dims = 1}
  %c = sub %x, %r
  %n = neg %c
  %s = reduce_sum %n {axes = [0]}
  return %s
})"),
            R"(g0 row [N | M] in(%x) out(%r) { %r = reduce_max %x }
g1 row [M | N] in(%x, %r) out(%s) { %c = sub %x, %r; %n = neg %c; %s = reduce_sum %n }
)");
}

}  // namespace
}  // namespace tailor
