#include "fusion/fuse_elementwise.h"

#include <gtest/gtest.h>

#include "fusion/absorb_views.h"
#include "tests/fusion/fused_text.h"

namespace tailor {
namespace {

std::string Loops(const std::string& graph_text) { return PlanTextAfter({AbsorbViews, FuseElementwise}, graph_text); }

TEST(FuseElementwise, JoinsAChain) {
  EXPECT_EQ(Loops(R"(
graph @g(%x: f32[N, 256]) {
  %half = constant 0.5 : f32[]
  %e = exp %x
  %h = mul %e, %half
  %y = add %h, %x
  return %y
})"),
            R"(g0 loop [N, 256] in(%x) out(%y) { %e = exp %x; %h = mul %e, 0.5; %y = add %h, %x }
)");
}

TEST(FuseElementwise, AScatterHasKernelsOfItsOwn) {
  EXPECT_EQ(Loops(R"(
graph @g(%x: f32[N], %i: i64[M, 1], %u: f32[M]) {
  %e = exp %x
  %v = neg %u
  %s = scatter %e, %i, %v {combiner = "add"}
  %y = tanh %s
  return %y
})"),
            R"(g0 loop [N] in(%x) out(%e) { %e = exp %x }
g1 loop [M] in(%u) out(%v) { %v = neg %u }
g2 scatter [| M] in(%i, %e, %v) out(%s) { %s = scatter %e, %i, %v }
g3 loop [N] in(%s) out(%y) { %y = tanh %s }
refused %e -> %s in fuse-elementwise: a scatter updates memory in order, in kernels of its own
refused %v -> %s in fuse-elementwise: a scatter updates memory in order, in kernels of its own
refused %s -> %y in fuse-elementwise: a scatter updates memory in order, in kernels of its own
)");
}

TEST(FuseElementwise, OtherReadersMakeOutputs) {
  EXPECT_EQ(Loops(R"(
graph @g(%x: f32[N]) {
  %e = exp %x
  %a = neg %e
  %b = abs %e
  %r = reduce_sum %e {axes = [0]}
  return %a, %b, %r
})"),
            R"(g0 loop [N] in(%x) out(%e, %a, %b) { %e = exp %x; %a = neg %e; %b = abs %e }
g1 row [| N] in(%e) out(%r) { %r = reduce_sum %e }
)");
}

TEST(FuseElementwise, ExpensiveWorkIsNotRepeated) {
  EXPECT_EQ(Loops(R"(
graph @g(%r: f32[B, 1], %x: f32[B, S]) {
  %e = exp %r
  %y = mul %x, %e
  return %y
})"),
            R"(g0 loop [B, 1] in(%r) out(%e) { %e = exp %r }
g1 loop [B, S] in(%x, %e) out(%y) { %y = mul %x, %e }
refused %e -> %y in fuse-elementwise: %e (exp) would be computed again for many readers
)");
}

// A window reads silu(x), not x and sigmoid(x); what reads sigmoid(x) with other dims does not join it.
TEST(FuseElementwise, WhatFollowsExpensiveWorkIsKeptWithIt) {
  EXPECT_EQ(Loops(R"(
graph @g(%x: f32[N, C, H], %w: f32[3], %v: f32[N, C, 1]) {
  %zero = constant 0 : f32[]
  %s = sigmoid %x
  %silu = mul %x, %s
  %pad = pad %silu, %zero {low = [0, 0, 1], high = [0, 0, 1]}
  %windows = window %pad {axes = [2], sizes = [3], strides = [1]}
  %y = mul %windows, %w
  %t = tanh %v
  %half = mul %t, %t
  %z = add %half, %x
  return %y, %z
})"),
            R"(g0 loop [N, C, H] in(%x) out(%silu) { %s = sigmoid %x; %silu = mul %x, %s }
g1 loop [N, C, H, 3] in(%w, %silu) out(%y) { %pad = pad %silu, 0; %windows = window %pad; %y = mul %windows, %w }
g2 loop [N, C, 1] in(%v) out(%half) { %t = tanh %v; %half = mul %t, %t }
g3 loop [N, C, H] in(%x, %half) out(%z) { %z = add %half, %x }
refused %half -> %z in fuse-elementwise: %t (tanh) would be computed again for many readers
refused %silu -> %pad in fuse-elementwise: %s (sigmoid) would be computed again for many readers
)");
}

TEST(FuseElementwise, CheapWorkIsRepeated) {
  EXPECT_EQ(Loops(R"(
graph @g(%r: f32[B, 1], %x: f32[B, S]) {
  %n = neg %r
  %y = mul %x, %n
  return %y
})"),
            R"(g0 loop [B, S] in(%r, %x) out(%y) { %n = neg %r; %y = mul %x, %n }
)");
}

TEST(FuseElementwise, AnUnprovedBroadcastMayRepeat) {
  EXPECT_EQ(Loops(R"(
graph @g(%x: f32[S], %y: f32[T]) {
  %e = exp %x
  %z = add %e, %y
  return %z
})"),
            R"(g0 loop [S] in(%x) out(%e) { %e = exp %x }
g1 loop [bcast(S, T)] in(%y, %e) out(%z) { %z = add %e, %y }
refused %e -> %z in fuse-elementwise: %e (exp) would be computed again for many readers: dim sizes S and T are not provably equal; assume_equal(S, T) would allow it
)");
}

TEST(FuseElementwise, LookupsMayRepeat) {
  EXPECT_EQ(Loops(R"(
graph @g(%table: f32[V, 64], %ids: i64[B, S]) {
  %e = exp %table
  %n = neg %ids
  %g = gather %e, %n
  %y = tanh %g
  return %y
})"),
            R"(g0 loop [V, 64] in(%table) out(%e) { %e = exp %table }
g1 loop [B, S, 64] in(%ids, %e) out(%y) { %n = neg %ids; %g = gather %e, %n; %y = tanh %g }
refused %e -> %g in fuse-elementwise: %e (exp) would be computed again for many readers
)");
}

TEST(FuseElementwise, BijectiveViewsDoNot) {
  EXPECT_EQ(Loops(R"(
graph @g(%x: f32[B, 12, S]) {
  %e = exp %x
  %t = transpose %e {permutation = [2, 0, 1]}
  %r = reshape %t {shape = [S*B, 12]}
  %y = tanh %r
  return %y
})"),
            R"(g0 loop [B*S, 12] in(%x) out(%y) { %e = exp %x; %t = transpose %e; %r = reshape %t; %y = tanh %r }
)");
}

TEST(FuseElementwise, ReadersAtOneIndexShareIt) {
  EXPECT_EQ(Loops(R"(
graph @g(%x: f32[A, B]) {
  %e = exp %x
  %t = tanh %e
  %d = div %e, %t
  %r = reshape %d {shape = [A*B]}
  %y = neg %r
  return %y
})"),
            R"(g0 loop [A*B] in(%x) out(%y) { %e = exp %x; %t = tanh %e; %d = div %e, %t; %r = reshape %d; %y = neg %r }
)");
}

TEST(FuseElementwise, ReadersAtTwoIndicesDoNot) {
  EXPECT_EQ(Loops(R"(
graph @g(%x: f32[N]) {
  %e = exp %x
  %a = slice %e {starts = [0], sizes = [N - 1]}
  %b = slice %e {starts = [1], sizes = [N - 1]}
  %y = sub %a, %b
  return %y
})"),
            R"(g0 loop [N] in(%x) out(%e) { %e = exp %x }
g1 loop [N - 1] in(%e) out(%y) { %a = slice %e; %b = slice %e; %y = sub %a, %b }
refused %e -> %y in fuse-elementwise: %e (exp) would be computed again for many readers
)");
  EXPECT_EQ(Loops(R"(
graph @g(%x: f32[N, N]) {
  %e = exp %x
  %t = transpose %e {permutation = [1, 0]}
  %a = add %e, %t
  %r = reshape %a {shape = [N*N]}
  %y = neg %r
  return %y
})"),
            R"(g0 loop [N, N] in(%x) out(%e) { %e = exp %x }
g1 loop [N*N] in(%e) out(%y) { %t = transpose %e; %a = add %e, %t; %r = reshape %a; %y = neg %r }
refused %e -> %a in fuse-elementwise: %e (exp) would be computed again for many readers
)");
}

TEST(FuseElementwise, OnlyOneDomain) {
  EXPECT_EQ(Loops(R"(
graph @g(%x: f32[N, 8]) {
  %e = exp %x
  %s = slice %e {starts = [0, 0], sizes = [N, 4]}
  %y = neg %s
  return %e, %y
})"),
            R"(g0 loop [N, 8] in(%x) out(%e) { %e = exp %x }
g1 loop [N, 4] in(%e) out(%y) { %s = slice %e; %y = neg %s }
refused %e -> %y in fuse-elementwise: outputs %e and %y have different domains: dim sizes 8 and 4 differ
)");
}

TEST(FuseElementwise, NeverAroundAnotherGroup) {
  EXPECT_EQ(Loops(R"(
graph @g(%x: f32[N]) {
  %e = exp %x
  %s = reduce_sum %e {axes = [0]}
  %y = div %e, %s
  return %y
})"),
            R"(g0 loop [N] in(%x) out(%e) { %e = exp %x }
g1 row [| N] in(%e) out(%s) { %s = reduce_sum %e }
g2 loop [N] in(%e, %s) out(%y) { %y = div %e, %s }
refused %e -> %y in fuse-elementwise: other groups lie between them and would have to run in the middle
)");
}

}  // namespace
}  // namespace tailor
