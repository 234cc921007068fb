#include "fusion/remote_stitch.h"

#include <gtest/gtest.h>

#include "fusion/absorb_views.h"
#include "fusion/stitch.h"
#include "tests/fusion/fused_text.h"

namespace tailor {
namespace {

std::string Joined(const std::string& graph_text) {
  return PlanTextAfter({AbsorbViews, Stitch, RemoteStitch}, graph_text);
}

TEST(RemoteStitch, ReadsASharedTensorOnce) {
  EXPECT_EQ(Joined(R"(
graph @g(%x: f32[B, S]) {
  %s = reduce_sum %x {axes = [1]}
  %m = reduce_max %x {axes = [1]}
  return %s, %m
})"),
            R"(g0 row [B | S] in(%x) out(%s, %m) { %s = reduce_sum %x; %m = reduce_max %x }
)");
}

TEST(RemoteStitch, OtherRowsStayApart) {
  EXPECT_EQ(Joined(R"(
graph @g(%x: f32[B, S]) {
  %s = reduce_sum %x {axes = [1]}
  %m = reduce_max %x {axes = [0]}
  return %s, %m
})"),
            R"(g0 row [B | S] in(%x) out(%s) { %s = reduce_sum %x }
g1 row [S | B] in(%x) out(%m) { %m = reduce_max %x }
)");
}

TEST(RemoteStitch, ASmallSharedInputIsNoReason) {
  EXPECT_EQ(Joined(R"(
graph @g(%x: f32[B, S], %y: f32[B, S], %v: f32[S]) {
  %p = mul %x, %v
  %s = reduce_sum %p {axes = [1]}
  %q = mul %y, %v
  %m = reduce_max %q {axes = [1]}
  return %s, %m
})"),
            R"(g0 row [B | S] in(%x, %v) out(%s) { %p = mul %x, %v; %s = reduce_sum %p }
g1 row [B | S] in(%y, %v) out(%m) { %q = mul %y, %v; %m = reduce_max %q }
)");
}

}  // namespace
}  // namespace tailor
