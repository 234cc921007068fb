#include "fusion/group_queries.h"

#include <gtest/gtest.h>

#include "fusion/remove_dead_nodes.h"
#include "tests/fusion/fused_text.h"

namespace tailor {
namespace {

absl::StatusOr<Graph> Rewritten(const Graph& graph, const ShapeFacts& facts) {
  absl::StatusOr<Graph> grouped = GroupQueries(graph, facts);
  return grouped.ok() ? RemoveDeadNodes(*grouped, facts) : grouped;
}

// Keys are transposed through matrices of all batches, as PyTorch's exporter writes it. The mask is the same for all
// heads.
TEST(GroupQueries, OfAttention) {
  EXPECT_EQ(TextAfter(Rewritten, R"(
graph @g(%q: f32[B, 6, M, 8], %k: f32[B, 3, N, 8], %v: f32[B, 3, N, 8], %mask: f32[B, 1, M, N]) {
  %k5 = reshape %k {shape = [B, 3, 1, N, 8]}
  %kr = broadcast %k5 {shape = [B, 3, 2, N, 8]}
  %k3 = reshape %kr {shape = [6*B, N, 8]}
  %kt = transpose %k3 {permutation = [0, 2, 1]}
  %k4 = reshape %kt {shape = [B, 6, 8, N]}
  %s = dot %q, %k4
  %masked = add %s, %mask
  %max = reduce_max %masked {axes = [3], keep_dims = 1}
  %less = sub %masked, %max
  %e = exp %less
  %sum = reduce_sum %e {axes = [3], keep_dims = 1}
  %p = div %e, %sum
  %v5 = reshape %v {shape = [B, 3, 1, N, 8]}
  %vr = broadcast %v5 {shape = [B, 3, 2, N, 8]}
  %v4 = reshape %vr {shape = [B, 6, N, 8]}
  %y = dot %p, %v4
  return %y
})"),
            R"(graph @g(%q: f32[B, 6, M, 8], %k: f32[B, 3, N, 8], %v: f32[B, 3, N, 8], %mask: f32[B, 1, M, N]) {
  %k5 = reshape %k {shape = [B, 3, 1, N, 8]} : f32[B, 3, 1, N, 8]
  %5 = reshape %q {shape = [B, 3, 2, M, 8]} : f32[B, 3, 2, M, 8]
  %s = dot %5, %k5 {transpose_rhs = 1} : f32[B, 3, 2, M, N]
  %7 = reshape %mask {shape = [B, 1, 1, M, N]} : f32[B, 1, 1, M, N]
  %masked = add %s, %7 : f32[B, 3, 2, M, N]
  %max = reduce_max %masked {axes = [4], keep_dims = 1} : f32[B, 3, 2, M, 1]
  %less = sub %masked, %max : f32[B, 3, 2, M, N]
  %e = exp %less : f32[B, 3, 2, M, N]
  %sum = reduce_sum %e {axes = [4], keep_dims = 1} : f32[B, 3, 2, M, 1]
  %p = div %e, %sum : f32[B, 3, 2, M, N]
  %v5 = reshape %v {shape = [B, 3, 1, N, 8]} : f32[B, 3, 1, N, 8]
  %y = dot %p, %v5 : f32[B, 3, 2, M, 8]
  %16 = reshape %y {shape = [B, 6, M, 8]} : f32[B, 6, M, 8]
  return "y" = %16
}
)");
}

// Nothing repeats, or rows of matrices do.
TEST(GroupQueries, NotOtherBroadcasts) {
  for (const char* text : {R"(graph @g(%q: f32[B, 6, M, 8], %k: f32[1, 8, N]) {
  %kr = broadcast %k {shape = [6, 8, N]} : f32[6, 8, N]
  %s = dot %q, %kr : f32[B, 6, M, N]
  return %s
}
)",
                           R"(graph @g(%q: f32[6, M, 8], %k: f32[3, 1, N]) {
  %kr = broadcast %k {shape = [3, 16, N]} : f32[3, 16, N]
  %k4 = reshape %kr {shape = [6, 8, N]} : f32[6, 8, N]
  %s = dot %q, %k4 : f32[6, M, N]
  return %s
}
)"}) {
    EXPECT_EQ(TextAfter(Rewritten, text), text);
  }
}

}  // namespace
}  // namespace tailor
