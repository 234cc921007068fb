#include "fusion/simplify_views.h"

#include <gtest/gtest.h>

#include "tests/fusion/fused_text.h"

namespace tailor {
namespace {

TEST(ComposeViews, TransposesAndReshapes) {
  EXPECT_EQ(TextAfter(ComposeViews, R"(
graph @g(%x: f32[A, B, C], %y: f32[M, 6]) {
  %p = transpose %x {permutation = [1, 2, 0]}
  %q = transpose %p {permutation = [2, 1, 0]}
  %r = reshape %y {shape = [6*M]}
  %s = reshape %r {shape = [2*M, 3]}
  return %q, %s
})"),
            R"(graph @g(%x: f32[A, B, C], %y: f32[M, 6]) {
  %p = transpose %x {permutation = [1, 2, 0]} : f32[B, C, A]
  %q = transpose %x {permutation = [0, 2, 1]} : f32[A, C, B]
  %r = reshape %y {shape = [6*M]} : f32[6*M]
  %s = reshape %y {shape = [2*M, 3]} : f32[2*M, 3]
  return %q, %s
}
)");
}

// %last is the number of rows less one: in range. %beyond may not be, and a gather's index is checked in its kernel.
TEST(ComposeViews, GathersAtDimSizesAreSlices) {
  EXPECT_EQ(TextAfter(ComposeViews, R"(
graph @g(%x: f32[A, B]) where A in [1, 64], B {
  %positions = iota {shape = [A], axis = 0, dtype = i64}
  %last = slice %positions {starts = [A - 1], sizes = [1]}
  %one = constant 1 : i64[]
  %beyond = add %last, %one
  %y = gather %x, %last {axis = 0}
  %z = gather %x, %beyond {axis = 0}
  %minus = constant -1 : i64[]
  %w = gather %x, %minus {axis = 1}
  return %y, %z, %w
})"),
            R"(graph @g(%x: f32[A, B]) where A in [1, 64] {
  %positions = iota {shape = [A], axis = 0, dtype = i64} : i64[A]
  %last = slice %positions {starts = [A - 1], sizes = [1]} : i64[1]
  %one = constant 1 : i64[]
  %beyond = add %last, %one : i64[1]
  %5 = slice %x {starts = [A - 1, 0], sizes = [1, B]} : f32[1, B]
  %y = reshape %5 {shape = [1, B]} : f32[1, B]
  %z = gather %x, %beyond : f32[1, B]
  %minus = constant -1 : i64[]
  %w = gather %x, %minus {axis = 1} : f32[A]
  return %y, %z, %w
}
)");
}

TEST(RemoveIdentityViews, OfEveryKind) {
  EXPECT_EQ(TextAfter(RemoveIdentityViews, R"(
graph @g(%x: f32[N, 4]) {
  %a = transpose %x {permutation = [0, 1]}
  %b = reshape %a {shape = [N, 4]}
  %c = slice %b {starts = [0, 0], sizes = [N, 4]}
  %d = broadcast %c {shape = [N, 4]}
  %e = concat %d {axis = 0}
  %v = constant 1 : f32[]
  %f = pad %e, %v {low = [0, 0], high = [0, 0]}
  %y = neg %f
  return %y
})"),
            R"(graph @g(%x: f32[N, 4]) {
  %v = constant 1 : f32[]
  %y = neg %x : f32[N, 4]
  return %y
}
)");
}

TEST(RemoveIdentityViews, ReductionsOverNoDim) {
  EXPECT_EQ(TextAfter(RemoveIdentityViews, R"(
graph @g(%x: f32[N, 4]) {
  %a = reduce_max %x {axes = []}
  %b = reduce_mean %a {axes = [], keep_dims = 1}
  %y = neg %b
  return %y
})"),
            R"(graph @g(%x: f32[N, 4]) {
  %y = neg %x : f32[N, 4]
  return %y
}
)");
}

TEST(RemoveIdentityViews, KeepsViewsThatMove) {
  const std::string text = R"(graph @g(%x: f32[N, N]) {
  %a = transpose %x {permutation = [1, 0]} : f32[N, N]
  %b = slice %a {starts = [0, 3], sizes = [N, 1]} : f32[N, 1]
  %c = slice %a {starts = [N - 1, 0], sizes = [N, N], steps = [-1, 1]} : f32[N, N]
  %d = add %b, %c : f32[N, N]
  %e = constant 0 : f32[]
  %f = pad %d, %e {low = [1, 0], high = [-1, 0]} : f32[N, N]
  return %f
}
)";
  EXPECT_EQ(TextAfter(RemoveIdentityViews, text), text);
}

TEST(RemoveIdentityViews, UsesFacts) {
  EXPECT_EQ(TextAfter(RemoveIdentityViews, R"(
graph @g(%x: f32[S], %z: f32[T]) where S == T {
  %a = reshape %x {shape = [T]}
  %y = add %a, %z
  return %y
})"),
            R"(graph @g(%x: f32[S], %z: f32[T]) where S == T {
  %y = add %x, %z : f32[bcast(S, T)]
  return %y
}
)");
}

}  // namespace
}  // namespace tailor
