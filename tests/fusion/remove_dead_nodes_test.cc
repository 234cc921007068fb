#include "fusion/remove_dead_nodes.h"

#include <gtest/gtest.h>

#include "tests/fusion/fused_text.h"

namespace tailor {
namespace {

TEST(RemoveDeadNodes, DropsChainsAndConstants) {
  EXPECT_EQ(TextAfter(RemoveDeadNodes, R"(
graph @g(%x: f32[N], %unused: f32[N]) {
  %c = constant 2 : f32[]
  %d = mul %x, %c
  %e = exp %d
  %y = neg %x
  return "out" = %y
})"),
            R"(graph @g(%x: f32[N], %unused: f32[N]) {
  %y = neg %x : f32[N]
  return "out" = %y
}
)");
}

}  // namespace
}  // namespace tailor
