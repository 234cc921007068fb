#include "fusion/canonicalize_dims.h"

#include <gtest/gtest.h>

#include "tests/fusion/fused_text.h"

namespace tailor {
namespace {

TEST(CanonicalizeDims, OneSymbolStandsForItsClass) {
  EXPECT_EQ(TextAfter(CanonicalizeDims, R"(
graph @g(%x: f32[S, 4], %y: f32[T, 4]) where S == T {
  %b = broadcast %y {shape = [2, T, 4]}
  %z = add %x, %b
  return %z
})"),
            R"(graph @g(%x: f32[S, 4], %y: f32[S, 4]) where T, S == T {
  %b = broadcast %y {shape = [2, S, 4]} : f32[2, S, 4]
  %z = add %x, %b : f32[2, S, 4]
  return %z
}
)");
}

}  // namespace
}  // namespace tailor
