#include "fusion/merge_equal_nodes.h"

#include <gtest/gtest.h>

#include "tests/fusion/fused_text.h"

namespace tailor {
namespace {

TEST(MergeEqualNodes, MergesThroughOperandsAndConstants) {
  EXPECT_EQ(TextAfter(MergeEqualNodes, R"(
graph @g(%x: f32[N]) {
  %p = constant 2 : f32[]
  %q = constant 2 : f32[]
  %a = mul %x, %p
  %b = mul %x, %q
  %c = add %a, %b
  return %c
})"),
            R"(graph @g(%x: f32[N]) {
  %p = constant 2 : f32[]
  %a = mul %x, %p : f32[N]
  %c = add %a, %a : f32[N]
  return %c
}
)");
}

TEST(MergeEqualNodes, AttributesTypesAndOperandOrderMatter) {
  const std::string text = R"(graph @g(%x: f32[N, N]) {
  %p = constant 2 : f32[]
  %q = constant 2 : f32[1]
  %a = reduce_sum %x {axes = [0]} : f32[N]
  %b = reduce_sum %x {axes = [1]} : f32[N]
  %c = sub %a, %b : f32[N]
  %d = sub %b, %a : f32[N]
  %e = mul %c, %p : f32[N]
  %f = mul %d, %q : f32[N]
  return %e, %f
}
)";
  std::string scalar_list = text;
  size_t at = scalar_list.find("constant 2 : f32[1]");
  scalar_list.replace(at, 10, "constant [2]");
  EXPECT_EQ(TextAfter(MergeEqualNodes, scalar_list), scalar_list);
}

}  // namespace
}  // namespace tailor
