#include "fusion/compose_views.h"

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

}  // namespace
}  // namespace tailor
