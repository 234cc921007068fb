#include "fusion/simplify_views.h"

#include <gtest/gtest.h>

#include "fusion/remove_dead_nodes.h"
#include "tests/fusion/fused_text.h"

namespace tailor {
namespace {

absl::StatusOr<Graph> Reshaped(const Graph& graph, const ShapeFacts& facts) {
  absl::StatusOr<Graph> reshaped = ReshapeConstants(graph, facts);
  return reshaped.ok() ? RemoveDeadNodes(*reshaped, facts) : reshaped;
}

TEST(ReshapeConstants, KeepsTheBytes) {
  EXPECT_EQ(TextAfter(Reshaped, R"(
graph @g(%x: f32[N, 3]) {
  %c = constant [1, 2, 3] : f32[3]
  %s = constant 7 : f32[]
  %row = reshape %c {shape = [3, 1]}
  %back = reshape %row {shape = [3]}
  %one = reshape %s {shape = [1]}
  %y = mul %x, %back
  %z = add %y, %one
  return %z
})"),
            R"(graph @g(%x: f32[N, 3]) {
  %back = constant [1, 2, 3] : f32[3]
  %one = constant @"7" [7] : f32[1]
  %y = mul %x, %back : f32[N, 3]
  %z = add %y, %one : f32[N, 3]
  return %z
}
)");
}

TEST(ReshapeConstants, SymbolicDimSizesStay) {
  const std::string text = R"(graph @g(%x: f32[N]) {
  %c = constant 7 : f32[]
  %r = reshape %c {shape = [N]} : f32[N]
  %y = add %x, %r : f32[N]
  return %y
}
)";
  EXPECT_EQ(TextAfter(ReshapeConstants, text), text);
}

}  // namespace
}  // namespace tailor
