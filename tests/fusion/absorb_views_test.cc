#include "fusion/absorb_views.h"

#include <gtest/gtest.h>

#include "tests/fusion/fused_text.h"

namespace tailor {
namespace {

TEST(AbsorbViews, EveryReaderHoldsItsOwnCopy) {
  EXPECT_EQ(PlanTextAfter({AbsorbViews}, R"(
graph @g(%x: f32[B, S]) {
  %t = transpose %x {permutation = [1, 0]}
  %i = iota {shape = [S, B], axis = 0, dtype = f32}
  %a = add %t, %i
  %b = mul %t, %i
  return %a, %b
})"),
            R"(g0 loop [S, B] in(%x) out(%a) { %t = transpose %x; %i = iota; %a = add %t, %i }
g1 loop [S, B] in(%x) out(%b) { %t = transpose %x; %i = iota; %b = mul %t, %i }
)");
}

TEST(AbsorbViews, GraphOutputsStay) {
  EXPECT_EQ(PlanTextAfter({AbsorbViews}, R"(
graph @g(%x: f32[B, S]) {
  %t = transpose %x {permutation = [1, 0]}
  %a = exp %t
  return %t, %a
})"),
            R"(g0 loop [S, B] in(%x) out(%t) { %t = transpose %x }
g1 loop [S, B] in(%t) out(%a) { %a = exp %t }
)");
}

TEST(AbsorbViews, MatmulsReadThroughLinearMaps) {
  EXPECT_EQ(
      PlanTextAfter({AbsorbViews}, R"(
graph @g(%x: f32[B, S, 384], %y: f32[B, S, 384]) {
  %q = reshape %x {shape = [B, S, 12, 32]}
  %qt = transpose %q {permutation = [0, 2, 1, 3]}
  %k = reshape %y {shape = [B, S, 12, 32]}
  %kt = transpose %k {permutation = [0, 2, 3, 1]}
  %d = dot %qt, %kt
  return %d
})"),
      R"(g0 contraction [B, 12, S, S | 32] in(%x, %y) out(%d) { %q = reshape %x; %qt = transpose %q; %k = reshape %y; %kt = transpose %k; %d = dot %qt, %kt }
)");
}

TEST(AbsorbViews, AReshapeOfMemoryKeepsAddresses) {
  EXPECT_EQ(PlanTextAfter({AbsorbViews}, R"(
graph @g(%x: f32[B, S, 384], %w: f32[384, 64]) {
  %f = reshape %x {shape = [B*S, 384]}
  %d = dot %f, %w
  return %d
})"),
            R"(g0 contraction [B*S, 64 | 384] in(%x, %w) out(%d) { %f = reshape %x; %d = dot %f, %w }
)");
}

TEST(AbsorbViews, JoinedDimsOfATransposeAreCopied) {
  EXPECT_EQ(PlanTextAfter({AbsorbViews}, R"(
graph @g(%x: f32[B, 12, S, 32], %w: f32[384, 64]) {
  %t = transpose %x {permutation = [0, 2, 1, 3]}
  %f = reshape %t {shape = [B, S, 384]}
  %d = dot %f, %w
  return %d
})"),
            R"(g0 loop [B, S, 384] in(%x) out(%f) { %t = transpose %x; %f = reshape %t }
g1 contraction [B, S, 64 | 384] in(%w, %f) out(%d) { %d = dot %f, %w }
refused %f -> %d in absorb-views: reshape %f is no linear index map of the matmul's operand
)");
}

TEST(AbsorbViews, ALiteralIsNoOperandInMemory) {
  EXPECT_EQ(PlanTextAfter({AbsorbViews}, R"(
graph @g(%x: f32[M, K]) {
  %one = constant 1 : f32[]
  %ones = broadcast %one {shape = [K, 1]}
  %d = dot %x, %ones
  return %d
})"),
            R"(g0 loop [K, 1] in() out(%ones) { %ones = broadcast 1 }
g1 contraction [M, 1 | K] in(%x, %ones) out(%d) { %d = dot %x, %ones }
refused %ones -> %d in absorb-views: broadcast %ones is no linear index map of the matmul's operand
)");
}

TEST(AbsorbViews, WindowsGoToMemoryBeforeTheyAreReshaped) {
  EXPECT_EQ(PlanTextAfter({AbsorbViews}, R"(
graph @g(%x: f32[N, 3, H, W], %w: f32[8, 27]) {
  %p = window %x {axes = [2, 3], sizes = [3, 3]}
  %t = transpose %p {permutation = [0, 1, 4, 5, 2, 3]}
  %r = reshape %t {shape = [N, 27, max(H - 2, 0)*max(W - 2, 0)]}
  %y = dot %w, %r
  return %y
})"),
            R"(g0 loop [N, 3, 3, 3, max(0, H - 2), max(0, W - 2)] in(%x) out(%t) { %p = window %x; %t = transpose %p }
g1 contraction [N, 8, max(0, H - 2)*max(0, W - 2) | 27] in(%w, %t) out(%y) { %r = reshape %t; %y = dot %w, %r }
)");
}

TEST(AbsorbViews, LeftOperandsReadWindowsInPlace) {
  EXPECT_EQ(
      PlanTextAfter({AbsorbViews}, R"(
graph @g(%x: f32[N, 3, H, W], %w: f32[27, 8]) {
  %p = window %x {axes = [2, 3], sizes = [3, 3]}
  %t = transpose %p {permutation = [0, 1, 4, 5, 2, 3]}
  %r = reshape %t {shape = [N, 27, max(H - 2, 0)*max(W - 2, 0)]}
  %y = dot %r, %w {transpose_lhs = 1}
  return %y
})"),
      R"(g0 contraction [N, max(0, H - 2)*max(0, W - 2), 8 | 27] in(%x, %w) out(%y) { %p = window %x; %t = transpose %p; %r = reshape %t; %y = dot %r, %w }
)");
}

// Lanes run along the last dim of windows: they would gather each element of the channels-last image many times.
TEST(AbsorbViews, OverlappingWindowsReadTransposedImagesFromMemory) {
  EXPECT_EQ(PlanTextAfter({AbsorbViews}, R"(
graph @g(%x: f32[N, H, W, 8]) {
  %zero = constant 0 : f32[]
  %t = transpose %x {permutation = [0, 3, 1, 2]}
  %p = pad %t, %zero {low = [0, 0, 1, 1], high = [0, 0, 1, 1]}
  %w = window %p {axes = [2, 3], sizes = [3, 3]}
  %y = reduce_max %w {axes = [4, 5]}
  return %y
})"),
            R"(g0 loop [N, 8, H, W] in(%x) out(%t) { %t = transpose %x }
g1 loop [N, 8, H + 2, W + 2] in(%t) out(%p) { %p = pad %t, 0 }
g2 row [N, 8, H, W | 3, 3] in(%p) out(%y) { %w = window %p; %y = reduce_max %w }
)");
}

// The results of a convolution, whose channels all readers want apart.
TEST(AbsorbViews, TransposedResultsOfAMatmulStayForItToStore) {
  EXPECT_EQ(PlanTextAfter({AbsorbViews}, R"(
graph @g(%x: f32[M, 64], %w: f32[64, 32], %y: f32[8, M]) {
  %d = dot %x, %w
  %t = transpose %d {permutation = [1, 0]}
  %c = concat %t, %y {axis = 0}
  %e = exp %t
  return %c, %e
})"),
            R"(g0 contraction [M, 32 | 64] in(%x, %w) out(%d) { %d = dot %x, %w }
g1 loop [32, M] in(%d) out(%t) { %t = transpose %d }
g2 loop [40, M] in(%y, %t) out(%c) { %c = concat %t, %y }
g3 loop [32, M] in(%t) out(%e) { %e = exp %t }
)");
}

TEST(AbsorbViews, TransposedResultsThatAMatmulOrAViewReadsAreAbsorbed) {
  EXPECT_EQ(PlanTextAfter({AbsorbViews}, R"(
graph @g(%x: f32[M, 64], %w: f32[64, 32], %v: f32[M, 16]) {
  %d = dot %x, %w
  %t = transpose %d {permutation = [1, 0]}
  %e = exp %t
  %f = dot %t, %v
  return %e, %f
})"),
            R"(g0 contraction [M, 32 | 64] in(%x, %w) out(%d) { %d = dot %x, %w }
g1 loop [32, M] in(%d) out(%e) { %t = transpose %d; %e = exp %t }
g2 contraction [32, 16 | M] in(%v, %d) out(%f) { %t = transpose %d; %f = dot %t, %v }
)");
  EXPECT_EQ(PlanTextAfter({AbsorbViews}, R"(
graph @g(%x: f32[M, 64], %w: f32[64, 32]) {
  %d = dot %x, %w
  %t = transpose %d {permutation = [1, 0]}
  %e = exp %t
  %r = reshape %t {shape = [32*M]}
  %f = exp %r
  return %e, %f
})"),
            R"(g0 contraction [M, 32 | 64] in(%x, %w) out(%d) { %d = dot %x, %w }
g1 loop [32, M] in(%d) out(%e) { %t = transpose %d; %e = exp %t }
g2 loop [32*M] in(%d) out(%f) { %t = transpose %d; %r = reshape %t; %f = exp %r }
)");
}

TEST(AbsorbViews, LeftOperandsReadSlicesInPlace) {
  EXPECT_EQ(PlanTextAfter({AbsorbViews}, R"(
graph @g(%x: f32[N, 64, 9, 9], %w: f32[64, 32]) {
  %s = slice %x {starts = [0, 0, 2, 3], sizes = [N, 64, 7, 6]}
  %r = reshape %s {shape = [N, 64, 42]}
  %d = dot %r, %w {transpose_lhs = 1}
  return %d
})"),
            R"(g0 contraction [N, 42, 32 | 64] in(%x, %w) out(%d) { %s = slice %x; %r = reshape %s; %d = dot %r, %w }
)");
}

TEST(AbsorbViews, SeparateWindowsReadTransposedImagesInPlace) {
  EXPECT_EQ(GroupLines(PlanTextAfter({AbsorbViews}, R"(
graph @g(%x: f32[N, 12, 16, 8]) {
  %t = transpose %x {permutation = [0, 3, 1, 2]}
  %w = window %t {axes = [2, 3], sizes = [2, 2], strides = [2, 2]}
  %y = reduce_max %w {axes = [4, 5]}
  return %y
})")),
            R"(g0 row [N, 8, 6, 8 | 2, 2] in(%x) out(%y) { %t = transpose %x; %w = window %t; %y = reduce_max %w }
)");
}

TEST(AbsorbViews, WindowsWhoseRowsAndDepthJoinAreCopied) {
  EXPECT_EQ(PlanTextAfter({AbsorbViews}, R"(
graph @g(%x: f32[N, 4], %w: f32[2, 8]) {
  %p = window %x {axes = [1], sizes = [3]}
  %r = reshape %p {shape = [N*3, 2]}
  %y = dot %r, %w
  return %y
})"),
            R"(g0 loop [N, 2, 3] in(%x) out(%p) { %p = window %x }
g1 contraction [3*N, 8 | 2] in(%w, %p) out(%y) { %r = reshape %p; %y = dot %r, %w }
)");
}

}  // namespace
}  // namespace tailor
