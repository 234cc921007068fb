#include "codegen/pack_rows.h"

#include <string>

#include "codegen/build_host_program.h"
#include "graph/text.h"
#include "gtest/gtest.h"

namespace tailor {
namespace {

// The packed plan of a graph's only kernel.
std::string Packed(const std::string& text, int lanes = 16) {
  auto parsed = ParseGraph(text);
  if (!parsed.ok()) return parsed.status().ToString();
  auto lowered = LowerGraph(*parsed, TargetTraits{});
  if (!lowered.ok()) return lowered.status().ToString();
  EXPECT_EQ(lowered->kernels.size(), 1);
  const auto packed = PackRows(lowered->kernels[0], lanes);
  return packed ? "\n" + packed->plan.Text() : "not packed";
}

// The quotient is a product by the inverse of the sum, which each row has one of.
TEST(PackRows, LanesRunOverTheElementsOfAllRows) {
  EXPECT_EQ(Packed(R"(
graph @g(%x: f32[M, 8]) {
  %m = reduce_max %x {axes = [1], keep_dims = 1}
  %d = sub %x, %m
  %e = exp %d
  %s = reduce_sum %e {axes = [1], keep_dims = 1}
  %y = div %e, %s
  return %y
})"),
            R"(
kernel axes [a0: d0 parallel, a1: d0 parallel]
  in b0: f32[d0, 8]
  out b1: f32[d0, 8]
  local b2: f32[]
  local b3: f32[]
  local b4: f32[]
  local b5: f32[]
  stage over []
    e0 = b0[0, a0]
    b3[] = reduce max in f32 e0
  stage over []
    e1 = exp(sub(e0, b3[]))
    b2[] = e1
    b4[] = reduce add in f32 e1
  stage over []
    b5[] = div(1f3f800000, b4[])
  stage over []
    b1[0, a0] = mul(b2[], b5[])
)");
}

TEST(PackRows, WhatIsStoredOncePerRowLiesAlongRows) {
  EXPECT_EQ(Packed(R"(
graph @g(%x: f32[M, 4], %b: f32[M], %w: f32[4]) {
  %p = mul %x, %w
  %s = reduce_sum %p {axes = [1]}
  %y = add %s, %b
  return %y
})"),
            R"(
kernel axes [a0: d0 parallel, a1: d0 parallel]
  in b0: f32[d0, 4]
  in b1: f32[4]
  in b2: f32[d0]
  out b3: f32[d0]
  local b4: f32[]
  stage over []
    b4[] = reduce add in f32 mul(b0[0, a0], b1[(a0 % 4)])
  stage over []
    b3[a1] = add(b4[], b2[(a0 / 4)])
)");
}

TEST(PackRows, NotWhereElementsOfARowLieApart) {
  const std::string sums = " %s = reduce_sum %t {axes = [1]}\n return %s }";
  EXPECT_EQ(Packed("graph @g(%x: f32[8, M]) { %t = transpose %x {permutation = [1, 0]}\n" + sums), "not packed");
  EXPECT_EQ(Packed("graph @g(%t: f32[M, 16]) {" + sums), "not packed");
  EXPECT_EQ(Packed("graph @g(%t: f32[M, 8]) {" + sums, 8), "not packed");
  EXPECT_NE(Packed("graph @g(%t: f32[M, 4]) {" + sums, 8), "not packed");
}

}  // namespace
}  // namespace tailor
