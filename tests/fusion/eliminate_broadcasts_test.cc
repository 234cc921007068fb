#include "fusion/eliminate_broadcasts.h"

#include <gtest/gtest.h>

#include "tests/fusion/fused_text.h"

namespace tailor {
namespace {

TEST(EliminateBroadcasts, WhereTheReaderImpliesThem) {
  EXPECT_EQ(TextAfter(EliminateBroadcasts, R"(
graph @g(%x: f32[B, S], %r: f32[B, 1], %c: f32[S]) {
  %p = broadcast %r {shape = [B, S]}
  %q = broadcast %c {shape = [B, S]}
  %y = mul %x, %p
  %z = add %q, %p
  return %y, %z
})"),
            R"(graph @g(%x: f32[B, S], %r: f32[B, 1], %c: f32[S]) {
  %p = broadcast %r {shape = [B, S]} : f32[B, S]
  %q = broadcast %c {shape = [B, S]} : f32[B, S]
  %y = mul %x, %r : f32[B, S]
  %z = add %c, %r : f32[B, S]
  return %y, %z
}
)");
}

TEST(EliminateBroadcasts, KeepsThoseThatMakeTheShape) {
  const std::string text = R"(graph @g(%x: f32[B, 1], %s: f32[]) {
  %p = broadcast %x {shape = [B, 7]} : f32[B, 7]
  %y = add %p, %s : f32[B, 7]
  %q = broadcast %x {shape = [B, 7]} : f32[B, 7]
  %z = reduce_sum %q {axes = [1]} : f32[B]
  return %y, %z
}
)";
  EXPECT_EQ(TextAfter(EliminateBroadcasts, text), text);
}

}  // namespace
}  // namespace tailor
