#include "fusion/fuse_dot_epilogue.h"

#include <gtest/gtest.h>

#include <string>

#include "fusion/absorb_views.h"
#include "fusion/fuse_elementwise.h"
#include "tests/fusion/fused_text.h"

namespace tailor {
namespace {

std::string Matmuls(const std::string& graph_text) {
  return PlanTextAfter({AbsorbViews, FuseElementwise, FuseDotEpilogue}, graph_text);
}

TEST(FuseDotEpilogue, BiasResidualAndActivation) {
  EXPECT_EQ(
      Matmuls(R"(
graph @g(%x: f32[B, S, 384], %w: f32[384, 64], %b: f32[64], %r: f32[B, S, 64]) {
  %d = dot %x, %w
  %e = add %d, %b
  %f = add %e, %r
  %s = sigmoid %f
  %y = mul %f, %s
  return %y
})"),
      R"(g0 contraction [B, S, 64 | 384] in(%x, %w, %b, %r) out(%y) { %d = dot %x, %w; %e = add %d, %b; %f = add %e, %r; %s = sigmoid %f; %y = mul %f, %s }
)");
}

TEST(FuseDotEpilogue, TrailingViewsAreTheStoreIndex) {
  EXPECT_EQ(
      Matmuls(R"(
graph @g(%p: f32[B, 12, S, S], %v: f32[B, 12, S, 32], %w: f32[384, 384]) {
  %c = dot %p, %v
  %t = transpose %c {permutation = [0, 2, 1, 3]}
  %m = reshape %t {shape = [B, S, 384]}
  %y = dot %m, %w
  return %y
})"),
      R"(g0 contraction [B, 12, S, 32 | S] in(%p, %v) out(%m) { %c = dot %p, %v } then { %t = transpose %c; %m = reshape %t }
g1 contraction [B, S, 384 | 384] in(%w, %m) out(%y) { %y = dot %m, %w }
refused %m -> %y in absorb-views: reshape %m is no linear index map of the matmul's operand
refused %m -> %y in fuse-dot-epilogue: two matmuls have loop nests of their own
)");
}

// Channels first; then the phases of a transposed convolution take turns.
TEST(FuseDotEpilogue, TransposedResultsWhoseSplitDimsAreRearrangedAreStoredTransposed) {
  EXPECT_EQ(
      Matmuls(R"(
graph @g(%x: f32[M, 64], %w: f32[64, 32]) {
  %d = dot %x, %w
  %t = transpose %d {permutation = [1, 0]}
  %s = reshape %t {shape = [16, 2, M]}
  %i = transpose %s {permutation = [0, 2, 1]}
  %r = reshape %i {shape = [16, 2*M]}
  %e = exp %r
  return %e
})"),
      R"(g0 contraction [M, 32 | 64] in(%x, %w) out(%s) { %d = dot %x, %w } then { %t = transpose %d; %s = reshape %t }
g1 loop [16, 2*M] in(%s) out(%e) { %i = transpose %s; %r = reshape %i; %e = exp %r }
refused %s -> %e in fuse-dot-epilogue: reshape %s splits dims before another view
)");
}

TEST(FuseDotEpilogue, TransposedResultsOfManyReadersAreStoredTransposed) {
  EXPECT_EQ(
      Matmuls(R"(
graph @g(%x: f32[M, 64], %w: f32[64, 32], %b: f32[32], %y: f32[8, M]) {
  %d = dot %x, %w
  %r = add %d, %b
  %t = transpose %r {permutation = [1, 0]}
  %c = concat %t, %y {axis = 0}
  %e = exp %t
  return %c, %e
})"),
      R"(g0 contraction [M, 32 | 64] in(%x, %w, %b) out(%t) { %d = dot %x, %w; %r = add %d, %b } then { %t = transpose %r }
g1 loop [40, M] in(%y, %t) out(%c) { %c = concat %t, %y }
g2 loop [32, M] in(%t) out(%e) { %e = exp %t }
refused %t -> %c in fuse-dot-epilogue: the matmul would write 2 results (%t, %c), and its kernel writes one
refused %t -> %e in fuse-dot-epilogue: the matmul would write 2 results (%t, %e), and its kernel writes one
)");
}

TEST(FuseDotEpilogue, WhatFollowsTrailingViewsIsComputedWhereTheyEnd) {
  EXPECT_EQ(
      Matmuls(R"(
graph @g(%x: f32[N, P, K], %w: f32[K, 8], %r: f32[N, 8, P]) {
  %d = dot %x, %w
  %t = transpose %d {permutation = [0, 2, 1]}
  %s = add %t, %r
  %y = neg %s
  return %y
})"),
      R"(g0 contraction [N, P, 8 | K] in(%x, %w, %r) out(%y) { %d = dot %x, %w } then { %t = transpose %d; %s = add %t, %r; %y = neg %s }
)");
}

TEST(FuseDotEpilogue, RepeatingTheResultAfterViewsIsLeftToALoop) {
  EXPECT_EQ(Matmuls(R"(
graph @g(%x: f32[M, K], %w: f32[K, 8], %r: f32[B, 8, M]) {
  %d = dot %x, %w
  %t = transpose %d {permutation = [1, 0]}
  %y = add %t, %r
  return %y
})"),
            R"(g0 contraction [M, 8 | K] in(%x, %w) out(%t) { %d = dot %x, %w } then { %t = transpose %d }
g1 loop [B, 8, M] in(%r, %t) out(%y) { %y = add %t, %r }
refused %t -> %y in fuse-dot-epilogue: %y repeats the matmul's result after views of it
)");
}

// The residual of an image's shortcut: it must not be read across the lanes of the other matmul.
TEST(FuseDotEpilogue, TwoMatmulsThatMeetAfterViewsEachTakeTheirOwn) {
  EXPECT_EQ(Matmuls(R"(
graph @g(%x: f32[N, P, K], %w: f32[K, 8], %z: f32[N, P, L], %u: f32[L, 8]) {
  %d = dot %x, %w
  %t = transpose %d {permutation = [0, 2, 1]}
  %e = dot %z, %u
  %v = transpose %e {permutation = [0, 2, 1]}
  %y = add %t, %v
  return %y
})"),
            R"(g0 contraction [N, P, 8 | L] in(%z, %u) out(%v) { %e = dot %z, %u } then { %v = transpose %e }
g1 contraction [N, P, 8 | K] in(%x, %w, %v) out(%y) { %d = dot %x, %w } then { %t = transpose %d; %y = add %t, %v }
)");
}

TEST(FuseDotEpilogue, AViewThatTheMatmulCannotTakeJoinsWhatReadsIt) {
  EXPECT_EQ(Matmuls(R"(
graph @g(%x: f32[M, K], %w: f32[K, 8], %r: f32[8, M]) {
  %d = dot %x, %w
  %t = transpose %d {permutation = [1, 0]}
  %y = add %t, %r
  %s = reduce_sum %d {axes = [0]}
  return %y, %s
})"),
            R"(g0 contraction [M, 8 | K] in(%x, %w) out(%d) { %d = dot %x, %w }
g1 loop [8, M] in(%r, %d) out(%y) { %t = transpose %d; %y = add %t, %r }
g2 row [8 | M] in(%d) out(%s) { %s = reduce_sum %d }
refused %d -> %y in fuse-dot-epilogue: the matmul would write 2 results (%d, %y), and its kernel writes one
)");
}

// Views that the first matmul cannot store go into the epilogue of the other, not into a kernel of their own.
TEST(FuseDotEpilogue, AViewThatTheMatmulCannotTakeJoinsAnotherMatmul) {
  EXPECT_EQ(Matmuls(R"(
graph @g(%x: f32[M + 1, K], %w: f32[K, 8], %a: f32[M, L], %v: f32[L, 8]) {
  %p = dot %x, %w
  %s = slice %p {starts = [0, 0], sizes = [M, 8]}
  %q = dot %a, %v
  %y = add %q, %s
  return %y
})"),
            R"(g0 contraction [M + 1, 8 | K] in(%x, %w) out(%p) { %p = dot %x, %w }
g1 contraction [M, 8 | L] in(%a, %v, %p) out(%y) { %s = slice %p; %q = dot %a, %v; %y = add %q, %s }
refused %p -> %y in fuse-dot-epilogue: slice %s does not cover the matmul's result
refused %p -> %y in fuse-dot-epilogue: two matmuls have loop nests of their own
)");
  EXPECT_EQ(Matmuls(R"(
graph @g(%x: f32[M, K], %w: f32[K, 8], %z: f32[8, L], %u: f32[L, M]) {
  %d = dot %x, %w
  %t = transpose %d {permutation = [1, 0]}
  %e = dot %z, %u
  %y = add %t, %e
  %s = reduce_sum %d {axes = [0]}
  return %y, %s
})"),
            R"(g0 contraction [M, 8 | K] in(%x, %w) out(%d) { %d = dot %x, %w }
g1 contraction [8, M | L] in(%z, %u, %d) out(%y) { %t = transpose %d; %e = dot %z, %u; %y = add %t, %e }
g2 row [8 | M] in(%d) out(%s) { %s = reduce_sum %d }
refused %d -> %y in fuse-dot-epilogue: the matmul would write 2 results (%d, %y), and its kernel writes one
refused %d -> %y in fuse-dot-epilogue: two matmuls have loop nests of their own
)");
  EXPECT_EQ(Matmuls(R"(
graph @g(%x: f32[M, K], %w: f32[K, 32], %z: f32[8, M, L], %u: f32[L, 4]) {
  %d = dot %x, %w
  %r = reshape %d {shape = [M, 8, 4]}
  %t = transpose %r {permutation = [1, 0, 2]}
  %e = dot %z, %u
  %y = add %t, %e
  return %y
})"),
            R"(g0 contraction [M, 32 | K] in(%x, %w) out(%d) { %d = dot %x, %w }
g1 contraction [8, M, 4 | L] in(%z, %u, %d) out(%y) { %r = reshape %d; %t = transpose %r; %e = dot %z, %u; %y = add %t, %e }
refused %d -> %y in fuse-dot-epilogue: reshape %r splits dims before another view
refused %d -> %y in fuse-dot-epilogue: two matmuls have loop nests of their own
)");
}

TEST(FuseDotEpilogue, ASecondReaderKeepsTheMatmulInMemory) {
  EXPECT_EQ(Matmuls(R"(
graph @g(%x: f32[M, K], %w: f32[K, N], %b: f32[N]) {
  %d = dot %x, %w
  %y = add %d, %b
  %s = reduce_sum %d {axes = [0]}
  return %y, %s
})"),
            R"(g0 contraction [M, N | K] in(%x, %w) out(%d) { %d = dot %x, %w }
g1 loop [M, N] in(%b, %d) out(%y) { %y = add %d, %b }
g2 row [N | M] in(%d) out(%s) { %s = reduce_sum %d }
refused %d -> %y in fuse-dot-epilogue: the matmul would write 2 results (%d, %y), and its kernel writes one
)");
}

TEST(FuseDotEpilogue, TakesThePartThatEndsInOneValue) {
  EXPECT_EQ(Matmuls(R"(
graph @g(%x: f32[M, K], %w: f32[K, N], %b: f32[N]) {
  %d = dot %x, %w
  %y = add %d, %b
  %z = exp %y
  return %y, %z
})"),
            R"(g0 contraction [M, N | K] in(%x, %w, %b) out(%y) { %d = dot %x, %w; %y = add %d, %b }
g1 loop [M, N] in(%y) out(%z) { %z = exp %y }
refused %d -> %y in fuse-dot-epilogue: the matmul would write 2 results (%y, %z), and its kernel writes one
refused %y -> %z in fuse-dot-epilogue: the matmul would write 2 results (%y, %z), and its kernel writes one
)");
}

TEST(FuseDotEpilogue, OneOfTwoMatmulsTakesTheGate) {
  EXPECT_EQ(Matmuls(R"(
graph @g(%x: f32[M, K], %w: f32[K, N], %u: f32[K, N]) {
  %d = dot %x, %w
  %e = dot %x, %u
  %s = sigmoid %d
  %y = mul %s, %e
  return %y
})"),
            R"(g0 contraction [M, N | K] in(%x, %u) out(%e) { %e = dot %x, %u }
g1 contraction [M, N | K] in(%x, %w, %e) out(%y) { %d = dot %x, %w; %s = sigmoid %d; %y = mul %s, %e }
refused %e -> %y in fuse-dot-epilogue: two matmuls have loop nests of their own
)");
}

TEST(FuseDotEpilogue, NotWhatIsLargerThanTheMatmul) {
  EXPECT_EQ(Matmuls(R"(
graph @g(%x: f32[M, K], %w: f32[K, N], %y: f32[B, M, N]) {
  %d = dot %x, %w
  %z = add %d, %y
  return %z
})"),
            R"(g0 contraction [M, N | K] in(%x, %w) out(%d) { %d = dot %x, %w }
g1 loop [B, M, N] in(%y, %d) out(%z) { %z = add %d, %y }
refused %d -> %z in fuse-dot-epilogue: dim 0 of %z is no axis of the domain [M, N | K]
)");
}

TEST(FuseDotEpilogue, OperandsComeFromMemory) {
  EXPECT_EQ(Matmuls(R"(
graph @g(%x: f32[M, K], %w: f32[K, N], %u: f32[N, J]) {
  %e = exp %x
  %d = dot %e, %w
  %y = dot %d, %u
  return %y
})"),
            R"(g0 loop [M, K] in(%x) out(%e) { %e = exp %x }
g1 contraction [M, N | K] in(%w, %e) out(%d) { %d = dot %e, %w }
g2 contraction [M, J | N] in(%u, %d) out(%y) { %y = dot %d, %u }
refused %e -> %d in fuse-dot-epilogue: a matmul reads its operands from memory as they are
refused %d -> %y in fuse-dot-epilogue: two matmuls have loop nests of their own
)");
}

// The windows of padded images, as convolutions read them.
std::string TextOfWindows(const std::string& before, const std::string& after) {
  return R"(
graph @g(%x: f32[N, 3, 8, 8], %w: f32[27, 8], %b: f32[8]) {
  %zero = constant 0 : f32[])" +
         before + R"(
  %p = pad %h, %zero {low = [0, 0, 1, 1], high = [0, 0, 1, 1]}
  %v = window %p {axes = [2, 3], sizes = [3, 3]}
  %t = transpose %v {permutation = [0, 1, 4, 5, 2, 3]}
  %r = reshape %t {shape = [N, 27, 64]}
  %d = dot %r, %w {transpose_lhs = 1})" +
         after + "\n}";
}

TEST(FuseDotEpilogue, PaddingOfTheLeftOperandIsComputedToo) {
  EXPECT_EQ(
      Matmuls(TextOfWindows("\n  %h = neg %x", "\n  %y = add %d, %b\n  return %y")),
      R"(g0 contraction [N, 64, 8 | 27] in(%x, %w, %b) out(%y) { %h = neg %x; %p = pad %h, 0; %v = window %p; %t = transpose %v; %r = reshape %t; %d = dot %r, %w; %y = add %d, %b }
)");
}

// Each task would copy columns of %x into rows of its image.
TEST(FuseDotEpilogue, WhatIsPaddedIsNotReadAcrossRows) {
  EXPECT_EQ(
      Matmuls(R"(
graph @g(%x: f32[N, L, 32], %m: f32[N, L, 1], %w: f32[64, 96]) where L in [1, 100] {
  %s = transpose %x {permutation = [0, 2, 1]}
  %k = transpose %m {permutation = [0, 2, 1]}
  %h = mul %s, %k
  %z = constant 0 : f32[]
  %p = pad %h, %z {low = [0, 0, 1], high = [0, 0, 1]}
  %v = window %p {axes = [2], sizes = [3]}
  %t = transpose %v {permutation = [0, 1, 3, 2]}
  %r = reshape %t {shape = [N, 96, L]}
  %d = dot %r, %w {transpose_lhs = 1, transpose_rhs = 1}
  return %d
})"),
      R"(g0 loop [N, 32, L + 2] in(%x, %m) out(%p) { %s = transpose %x; %k = transpose %m; %h = mul %s, %k; %p = pad %h, 0 }
g1 contraction [N, L, 64 | 96] in(%w, %p) out(%d) { %v = window %p; %t = transpose %v; %r = reshape %t; %d = dot %r, %w }
refused %p -> %d in fuse-dot-epilogue: every task would read %s across rows
)");
}

// %s was kept for the first matmul, which stores %t for the second one; the second one took its reader.
TEST(FuseDotEpilogue, AViewWhoseReaderAnotherMatmulTookIsExplained) {
  const std::string plan = FusedText(R"(
graph @g(%x: f32[S, 3, M, N], %c: f32[3, 1, 1], %w: f32[1, 20, 9], %b: f32[1, 1, 20], %v: f32[1, 20, 20]) where M in [0, 7] multiple_of 4 {
  %zero = constant 0 : f32[]
  %h = mul %x, %c
  %p = pad %h, %zero {low = [0, 0, 1, 1], high = [0, 0, 1, 0]}
  %i = window %p {axes = [2, 3], sizes = [1, 3], strides = [2, 2]}
  %j = transpose %i {permutation = [0, 1, 4, 5, 2, 3]}
  %k = reshape %j {shape = [S, 1, 9, floordiv(M, 2)*floordiv(N, 2) + floordiv(N, 2)]}
  %d = dot %k, %w {transpose_lhs = 1, transpose_rhs = 1}
  %a = add %d, %b
  %t = transpose %a {permutation = [0, 1, 3, 2]}
  %s = reshape %t {shape = [S, 20, floordiv(M, 2) + 1, floordiv(N, 2)]}
  %f = dot %t, %v {transpose_lhs = 1, transpose_rhs = 1}
  %u = transpose %f {permutation = [0, 1, 3, 2]}
  %r = reshape %u {shape = [S, 20, floordiv(M, 2) + 1, floordiv(N, 2)]}
  %e = add %s, %r
  %g = max %e, %zero
  %l = pad %g, %zero {low = [0, 0, 1, 1], high = [0, 0, 1, 0]}
  %o = window %l {axes = [2, 3], sizes = [3, 3]}
  %y = reduce_mean %o {axes = [4, 5]}
  return %y
})");
  EXPECT_NE(plan.find("refused %s -> %e in fuse-dot-epilogue: an epilogue reads views that were kept"),
            std::string::npos)
      << plan;
}

TEST(FuseDotEpilogue, NothingExpensiveIsComputedAgainForEachTask) {
  EXPECT_EQ(Matmuls(TextOfWindows("\n  %h = exp %x", "\n  return %d")),
            R"(g0 loop [N, 3, 10, 10] in(%x) out(%p) { %h = exp %x; %p = pad %h, 0 }
g1 contraction [N, 64, 8 | 27] in(%w, %p) out(%d) { %v = window %p; %t = transpose %v; %r = reshape %t; %d = dot %r, %w }
refused %p -> %d in fuse-dot-epilogue: %h (exp) would be computed again for many tasks
)");
}

TEST(FuseDotEpilogue, PaddingThatIsWantedElsewhereStaysInMemory) {
  EXPECT_EQ(Matmuls(TextOfWindows("\n  %h = neg %x", "\n  return %d, %p")),
            R"(g0 loop [N, 3, 10, 10] in(%x) out(%p) { %h = neg %x; %p = pad %h, 0 }
g1 contraction [N, 64, 8 | 27] in(%w, %p) out(%d) { %v = window %p; %t = transpose %v; %r = reshape %t; %d = dot %r, %w }
refused %p -> %d in fuse-dot-epilogue: a matmul reads its operands from memory as they are
)");
}

}  // namespace
}  // namespace tailor
