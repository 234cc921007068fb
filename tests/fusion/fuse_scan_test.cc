#include "fusion/fuse_scan.h"

#include <gtest/gtest.h>

#include "fusion/absorb_views.h"
#include "fusion/fuse_elementwise.h"
#include "fusion/fuse_reduce.h"
#include "fusion/stitch.h"
#include "tests/fusion/fused_text.h"

namespace tailor {
namespace {

std::string Scans(const std::string& graph_text) {
  return PlanTextAfter({AbsorbViews, FuseElementwise, FuseReduce, Stitch, FuseScan}, graph_text);
}

TEST(FuseScan, TakesTheLoopsBeforeAndAfterIt) {
  EXPECT_EQ(
      Scans(R"(
graph @g(%x: f32[B, S, 64], %m: f32[S, B]) {
  %t = transpose %m {permutation = [1, 0]}
  %r = reshape %t {shape = [B, S, 1]}
  %e = exp %x
  %p = mul %e, %r
  %s = scan %p {axis = 1, combiner = "add"}
  %y = sub %s, %e
  return %y
})"),
      R"(g0 scan [B, 64 | S] in(%x, %m) out(%y) { %t = transpose %m; %r = reshape %t; %e = exp %x; %p = mul %e, %r; %s = scan %p; %y = sub %s, %e }
refused %e -> %y in fuse-elementwise: other groups lie between them and would have to run in the middle
)");
}

TEST(FuseScan, StoresThroughViewsAndSharesWhatOthersRead) {
  EXPECT_EQ(Scans(R"(
graph @g(%x: f32[B, S]) {
  %e = exp %x
  %s = scan %e {axis = 0, combiner = "max"}
  %y = transpose %s {permutation = [1, 0]}
  return %y, %e
})"),
            R"(g0 scan [S | B] in(%x) out(%e, %y) { %e = exp %x; %s = scan %e; %y = transpose %s }
)");
}

TEST(FuseScan, RefusesWhatReadsElsewhere) {
  EXPECT_EQ(Scans(R"(
graph @g(%x: f32[N, N], %v: f32[N]) {
  %s = scan %x {axis = 1, combiner = "add"}
  %t = transpose %s {permutation = [1, 0]}
  %y = add %s, %t
  %c = scan %v {axis = 0, combiner = "add"}
  %z = mul %c, %x
  return %y, %z
})"),
            R"(g0 scan [N | N] in(%x) out(%s) { %s = scan %x }
g1 loop [N, N] in(%s) out(%y) { %t = transpose %s; %y = add %s, %t }
g2 scan [| N] in(%v) out(%c) { %c = scan %v }
g3 loop [N, N] in(%x, %c) out(%z) { %z = mul %c, %x }
refused %s -> %y in fuse-scan: %s is read at other elements
refused %c -> %z in fuse-scan: dim 0 of %z is no axis of the domain [| N]
)");
}

TEST(FuseScan, RunsBesideReductionsAndOtherScans) {
  EXPECT_EQ(Scans(R"(
graph @g(%x: f32[N, M]) {
  %s = scan %x {axis = 1, combiner = "add"}
  %c = scan %s {axis = 0, combiner = "add"}
  %y = reduce_max %c {axes = [1]}
  return %y
})"),
            R"(g0 scan [N | M] in(%x) out(%s) { %s = scan %x }
g1 scan [M | N] in(%s) out(%c) { %c = scan %s }
g2 row [N | M] in(%c) out(%y) { %y = reduce_max %c }
refused %s -> %c in fuse-scan: a scan runs in order, in a loop nest of its own
refused %s -> %c in fuse-scan: a scan runs in order, in a loop nest of its own
refused %c -> %y in fuse-scan: a scan runs in order, in a loop nest of its own
)");
}

}  // namespace
}  // namespace tailor
