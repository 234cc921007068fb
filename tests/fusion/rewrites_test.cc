#include "fusion/rewrites.h"

#include <gtest/gtest.h>

#include "tests/fusion/fused_text.h"

namespace tailor {
namespace {

TEST(Rewrites, LeaveOnlyTheWork) {
  EXPECT_EQ(RewrittenText(R"(
graph @g(%x: f32[B, S], %m: f32[B, T]) where S == T {
  %one = constant 1 : f32[]
  %ones = broadcast %one {shape = [B, S]}
  %y = mul %x, %ones
  %t = transpose %y {permutation = [1, 0]}
  %u = transpose %t {permutation = [1, 0]}
  %a = add %u, %m
  %b = add %x, %m
  %unused = exp %b
  %c = mul %a, %b
  return %c
})"),
            R"(graph @g(%x: f32[B, S], %m: f32[B, S]) where T, S == T {
  %a = add %x, %m : f32[B, S]
  %c = mul %a, %a : f32[B, S]
  return %c
}
)");
}

TEST(Rewrites, KeepUnusedInputs) {
  EXPECT_EQ(RewrittenText(R"(
graph @g(%x: f32[N], %unused: f32[M]) {
  %y = neg %x
  return %y
})"),
            R"(graph @g(%x: f32[N], %unused: f32[M]) {
  %y = neg %x : f32[N]
  return %y
}
)");
}

}  // namespace
}  // namespace tailor
