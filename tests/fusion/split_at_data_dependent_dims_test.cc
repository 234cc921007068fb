#include "fusion/split_at_data_dependent_dims.h"

#include <gtest/gtest.h>

#include "graph/text.h"
#include "graph/verifier.h"

namespace tailor {
namespace {

std::string Split(const std::string& text) {
  auto graph = ParseGraph(text);
  if (!graph.ok()) return graph.status().ToString();
  auto split = SplitAtDataDependentDims(*graph);
  if (!split.ok()) return split.status().ToString();
  std::string stages = "\n";
  for (const Graph& stage : *split) {
    EXPECT_EQ(VerifyGraph(stage), absl::OkStatus());
    stages += stage.ToText();
  }
  return stages;
}

TEST(SplitAtDataDependentDims, KnownDimSizesStayTogether) {
  const std::string text = R"(
graph @g(%x: f32[N]) {
  %y = neg %x : f32[N]
  return %y
}
)";
  EXPECT_EQ(Split(text), text);
}

TEST(SplitAtDataDependentDims, TheContinuationHasWhatNeedsTheDim) {
  EXPECT_EQ(Split(R"(
graph @g(%x: f32[B, S], %n: i64[]) where B, S, N {
  %two = constant 2 : f32[]
  %m = bind %n {extent = [N]}
  %y = mul %x, %two
  %z = slice %y {starts = [0, 0], sizes = [N, S]}
  %w = mul %z, %two
  return "w" = %w, "y" = %y, "count" = %m
})"),
            R"(
graph @g(%x: f32[B, S], %n: i64[]) where N {
  %two = constant 2 : f32[]
  %y = mul %x, %two : f32[B, S]
  continuation %y, %n {extents = [B, S, 0], counts = [-1, -1, 1], outputs = [0]}
  return %y, "count" = %n
}
graph @continuation(%y: f32[B, S], %n: i64[], %"dim size B": u8[B], %"dim size S": u8[S], %"dim size N": u8[N]) {
  %z = slice %y {starts = [0, 0], sizes = [N, S]} : f32[N, S]
  %two = constant 2 : f32[]
  %w = mul %z, %two : f32[N, S]
  return %w
}
)");
}

// As an argument a weight would be packed in every run. What is computed from weights is an argument.
TEST(SplitAtDataDependentDims, EachStageHasItsOwnViewsOfConstants) {
  EXPECT_EQ(Split(R"(
graph @g(%x: f32[B, 4], %n: i64[]) where B, N {
  %w = constant @w : f32[2, 2, 8]
  %v = transpose %w {permutation = [0, 2, 1]}
  %r = reshape %v {shape = [4, 8]}
  %e = exp %r
  %m = bind %n {extent = [N]}
  %y = dot %x, %r
  %z = slice %x {starts = [0, 0], sizes = [N, 4]}
  %d = dot %z, %r
  %s = dot %z, %e
  return %d, %s, %y, "count" = %m
})"),
            R"(
graph @g(%x: f32[B, 4], %n: i64[]) where N {
  %w = constant @w : f32[2, 2, 8] hash 1a5928d34785c3dc
  %v = transpose %w {permutation = [0, 2, 1]} : f32[2, 8, 2]
  %r = reshape %v {shape = [4, 8]} : f32[4, 8]
  %e = exp %r : f32[4, 8]
  %y = dot %x, %r : f32[B, 8]
  continuation %x, %e, %n {extents = [B, 0], counts = [-1, 2], outputs = [0, 1]}
  return %y, "count" = %n
}
graph @continuation(%x: f32[B, 4], %e: f32[4, 8], %n: i64[], %"dim size B": u8[B], %"dim size N": u8[N]) {
  %z = slice %x {starts = [0, 0], sizes = [N, 4]} : f32[N, 4]
  %w = constant @w : f32[2, 2, 8] hash 1a5928d34785c3dc
  %v = transpose %w {permutation = [0, 2, 1]} : f32[2, 8, 2]
  %r = reshape %v {shape = [4, 8]} : f32[4, 8]
  %d = dot %z, %r : f32[N, 8]
  %s = dot %z, %e : f32[N, 8]
  return %d, %s
}
)");
}

TEST(SplitAtDataDependentDims, ABranchThatNoOutputNeedsIsDropped) {
  EXPECT_EQ(Split(R"(
graph @g(%c: bool[], %x: f32[B]) where B, N {
  %0 = neg %x
  %y = if(%c, %x) {shapes = [N]} {
    region(%a: f32[B]) {
      return "y" = %a
    }
    region(%a: f32[B]) {
      %b = concat %a, %a {axis = 0}
      return "y" = %b
    }
  }
  %z = exp %y
  return %0
})"),
            R"(
graph @g(%c: bool[], %x: f32[B]) where N {
  %2 = neg %x : f32[B]
  return %2
}
)");
}

TEST(SplitAtDataDependentDims, TheRestMayWaitInTurn) {
  EXPECT_EQ(Split(R"(
graph @g(%x: f32[B], %n: i64[]) where B, N, M {
  %m = bind %n {extent = [N]}
  %z = slice %x {starts = [0], sizes = [N]}
  %s = reduce_sum %z {axes = [0]}
  %k = cast %s {dtype = i64}
  %o = bind %k {extent = [M]}
  %i = iota {shape = [M], axis = 0, dtype = i32}
  return "i" = %i
})"),
            R"(
graph @g(%x: f32[B], %n: i64[]) where N, M {
  continuation %x, %n {extents = [B, 0], counts = [-1, 1], outputs = [0]}
  return
}
graph @continuation(%x: f32[B], %n: i64[], %"dim size B": u8[B], %"dim size N": u8[N]) {
  %z = slice %x {starts = [0], sizes = [N]} : f32[N]
  %s = reduce_sum %z {axes = [0]} : f32[]
  %k = cast %s {dtype = i64} : i64[]
  continuation %k {extents = [0], counts = [0], outputs = [0]}
  return
}
graph @continuation(%k: i64[], %"dim size M": u8[M]) {
  %i = iota {shape = [M], axis = 0, dtype = i32} : i32[M]
  return %i
}
)");
}

// Nothing reads the loop's result but its dim size, whose source is handed on with all its symbols.
TEST(SplitAtDataDependentDims, TheSourceOfADimIsHandedOn) {
  EXPECT_EQ(Split(R"(
graph @g(%x: f32[S, T]) where S, T, R {
  %y = while(%x) {shapes = [R, T]} {
    region(%a: f32[N, M]) { %go = constant false : bool[] return %go }
    region(%a: f32[N, M]) { %b = concat %a, %a {axis = 0} return %b }
  }
  %i = iota {shape = [R], axis = 0, dtype = i32}
  return "i" = %i
})"),
            R"(
graph @g(%x: f32[S, T]) where R {
  %y = while(%x) {shapes = [R, -1]} {
    region(%a: f32[N, M]) {
      %go = constant false : bool[]
      return %go
    }
    region(%a: f32[N, M]) {
      %b = concat %a, %a {axis = 0} : f32[2*N, M]
      return %b
    }
  } : f32[R, T]
  continuation %y {extents = [T], counts = [-1], outputs = [0]}
  return
}
graph @continuation(%y: f32[R, T], %"dim size T": u8[T]) where T, R {
  %i = iota {shape = [R], axis = 0, dtype = i32} : i32[R]
  return %i
}
)");
}

// Its range is checked all the same.
TEST(SplitAtDataDependentDims, ADimThatNothingHasIsDataDependent) {
  EXPECT_EQ(Split(R"(
graph @g(%n: i64[]) where N in [2, 9] {
  %m = bind %n {extent = [N]}
  %y = neg %m
  return "y" = %y
})"),
            R"(
graph @g(%n: i64[]) where N in [2, 9] {
  %y = neg %n : i64[]
  continuation %n {extents = [0], counts = [0]}
  return %y
}
graph @continuation(%n: i64[], %"dim size N": u8[N]) where N in [2, 9] {
  return
}
)");
}

// No output needs %g or %s: they are checked in the rest, but %g is not computed for it.
TEST(SplitAtDataDependentDims, WhatNoOutputNeedsIsNotHandedOn) {
  EXPECT_EQ(Split(R"(
graph @g(%t: f32[V], %i: i64[B], %n: i64[]) where V, B, N {
  %g = gather %t, %i
  %m = bind %n {extent = [N]}
  %s = slice %g {starts = [0], sizes = [N]}
  %y = iota {shape = [N], axis = 0, dtype = i64}
  return "y" = %y
})"),
            R"(
graph @g(%t: f32[V], %i: i64[B], %n: i64[]) where N {
  %g = gather %t, %i : f32[B]
  continuation %n {extents = [B, 0], counts = [-1, 0], outputs = [0]}
  return
}
graph @continuation(%n: i64[], %"dim size B": u8[B], %"dim size N": u8[N]) {
  %3 = constant 0 : f32[]
  %4 = broadcast %3 {shape = [B]} : f32[B]
  %s = slice %4 {starts = [0], sizes = [N]} : f32[N]
  %y = iota {shape = [N], axis = 0, dtype = i64} : i64[N]
  return %y
}
)");
}

TEST(SplitAtDataDependentDims, ASymbolIsDefinedOnce) {
  EXPECT_EQ(Split("graph @g(%n: i64[]) where N { %a = bind %n {extent = [N]} %b = bind %n {extent = [N]} return %a }"),
            "INVALID_ARGUMENT: bind %b: symbol N has a value already");
}

}  // namespace
}  // namespace tailor
