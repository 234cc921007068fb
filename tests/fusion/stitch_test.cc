#include "fusion/stitch.h"

#include <gtest/gtest.h>

#include "fusion/absorb_views.h"
#include "fusion/fuse_elementwise.h"
#include "fusion/fuse_reduce.h"
#include "tests/fusion/fused_text.h"

namespace tailor {
namespace {

std::string Stitched(const std::string& graph_text) {
  return PlanTextAfter({AbsorbViews, FuseElementwise, FuseReduce, Stitch}, graph_text);
}

TEST(Stitch, SoftmaxOfRenamedAndReorderedPrimitives) {
  EXPECT_EQ(
      GroupLines(Stitched(R"(
graph @g(%thing: f32[A, B, C]) {
  %swap = transpose %thing {permutation = [2, 0, 1]}
  %top = reduce_max %swap {axes = [0]}
  %wide = broadcast %top {shape = [C, A, B]}
  %neg = neg %wide
  %moved = add %neg, %swap
  %grown = exp %moved
  %total = reduce_sum %grown {axes = [0]}
  %one = constant 1 : f32[]
  %share = div %one, %total
  %row = reshape %share {shape = [1, A, B]}
  %out = mul %row, %grown
  return %out
})")),
      R"(g0 row [A, B | C] in(%thing) out(%out) { %swap = transpose %thing; %top = reduce_max %swap; %wide = broadcast %top; %neg = neg %wide; %moved = add %neg, %swap; %grown = exp %moved; %total = reduce_sum %grown; %share = div 1, %total; %row = reshape %share; %out = mul %row, %grown }
)");
}

TEST(Stitch, RowsMustBeTheSame) {
  EXPECT_EQ(Stitched(R"(
graph @g(%x: f32[B, S, 384]) {
  %s = reduce_sum %x {axes = [1]}
  %q = mul %s, %s
  %n = reduce_sum %q {axes = [1], keep_dims = 1}
  %y = div %s, %n
  return %y
})"),
            R"(g0 row [B, 384 | S] in(%x) out(%s, %q) { %s = reduce_sum %x; %q = mul %s, %s }
g1 row [B | 384] in(%s, %q) out(%y) { %n = reduce_sum %q; %y = div %s, %n }
refused %q -> %n in stitch: %n covers neither the domain [B, 384 | S] nor its rows
refused %s -> %y in stitch: other groups lie between them and would have to run in the middle
)");
}

TEST(Stitch, ADomainOfOtherDimSizesIsRefused) {
  EXPECT_EQ(Stitched(R"(
graph @g(%x: f32[B, S], %y: f32[B, T]) {
  %s = reduce_sum %x {axes = [1], keep_dims = 1}
  %z = mul %s, %y
  return %z
})"),
            R"(g0 row [B | S] in(%x) out(%s) { %s = reduce_sum %x }
g1 loop [B, T] in(%y, %s) out(%z) { %z = mul %s, %y }
refused %s -> %z in stitch: dim 1 of %z is no axis of the domain [B | S]: dim sizes T and S are not provably equal; assume_equal(T, S) would allow it
)");
}

TEST(Stitch, EqualDimSizesMakeItOneDomain) {
  EXPECT_EQ(Stitched(R"(
graph @g(%x: f32[B, S], %y: f32[B, T]) where S == T {
  %s = reduce_sum %x {axes = [1], keep_dims = 1}
  %z = mul %s, %y
  return %z
})"),
            R"(g0 row [B | S] in(%x, %y) out(%z) { %s = reduce_sum %x; %z = mul %s, %y }
)");
}

TEST(Stitch, StoresThroughViews) {
  EXPECT_EQ(
      Stitched(R"(
graph @g(%x: f32[B, S, 8]) {
  %m = reduce_mean %x {axes = [2], keep_dims = 1}
  %c = sub %x, %m
  %t = transpose %c {permutation = [1, 0, 2]}
  %r = reshape %t {shape = [S, 8*B]}
  return %r
})"),
      R"(g0 row [B, S | 8] in(%x) out(%r) { %m = reduce_mean %x; %c = sub %x, %m; %t = transpose %c; %r = reshape %t }
)");
}

TEST(Stitch, WhatFollowsAReductionIsReadInPlace) {
  EXPECT_EQ(Stitched(R"(
graph @g(%x: f32[N, N]) {
  %s = reduce_sum %x {axes = [1]}
  %y = mul %x, %s
  return %y
})"),
            R"(g0 row [N | N] in(%x) out(%s) { %s = reduce_sum %x }
g1 loop [N, N] in(%x, %s) out(%y) { %y = mul %x, %s }
refused %s -> %y in stitch: dim 1 of %y is no axis of the domain [N | N]
)");
}

TEST(Stitch, ReductionsOfEverything) {
  EXPECT_EQ(
      Stitched(R"(
graph @g(%x: f32[B, S]) {
  %m = reduce_mean %x {axes = [0, 1]}
  %c = sub %x, %m
  %q = mul %c, %c
  %v = reduce_mean %q {axes = [1, 0]}
  return %v
})"),
      R"(g0 row [| B, S] in(%x) out(%v) { %m = reduce_mean %x; %c = sub %x, %m; %q = mul %c, %c; %v = reduce_mean %q }
)");
}

// %r and %y are not one kernel: the matmul reads %r, and %h, in one kernel with %e that %y reads, reads the matmul.
// The nodes of %h and the matmul come after those of %y.
TEST(Stitch, APathMayLeadThroughALaterKernel) {
  EXPECT_EQ(FusedText(R"(
graph @g(%x: f32[B, S], %z: f32[S], %m: f32[B, S]) {
  %r = reduce_max %x {axes = [1]}
  %e = exp %z
  %rb = reshape %r {shape = [B, 1]}
  %d = sub %x, %rb
  %p = mul %d, %e
  %y = reduce_sum %p {axes = [1]}
  %r1 = reshape %r {shape = [1, B]}
  %g = dot %r1, %m
  %g1 = reshape %g {shape = [S]}
  %h = add %e, %g1
  return %y, %h
})"),
            R"(g0 row [B | S] in(%x) out(%r) { %r = reduce_max %x }
g1 contraction [1, S | B] in(%m, %r) out(%g1) { %r1 = reshape %r; %g = dot %r1, %m } then { %g1 = reshape %g }
g2 loop [S] in(%z, %g1) out(%e, %h) { %e = exp %z; %h = add %e, %g1 }
g3 row [B | S] in(%x, %r, %e) out(%y) { %rb = reshape %r; %d = sub %x, %rb; %p = mul %d, %e; %y = reduce_sum %p }
refused %r -> %d in stitch: other groups lie between them and would have to run in the middle
refused %r -> %d in remote-stitch: other groups lie between them and would have to run in the middle
refused %r -> %g in fuse-dot-epilogue: a matmul reads its operands from memory as they are
refused %r -> %g in stitch: a matmul is tiled over its columns, a reduction needs whole rows
refused %e -> %p in fuse-elementwise: outputs %p and %h have different domains: ranks 2 and 1 differ
refused %e -> %p in fuse-reduce: %h covers neither the domain [B | S] nor its rows
refused %e -> %p in stitch: %h covers neither the domain [B | S] nor its rows
refused %g1 -> %h in fuse-dot-epilogue: the matmul would write 2 results (%e, %h), and its kernel writes one
)");
}

}  // namespace
}  // namespace tailor
