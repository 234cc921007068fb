// Loops that store along one axis and load along another, at extents on either side of whole squares and tasks.
#include <string>

#include "absl/strings/str_cat.h"
#include "graph/text.h"
#include "gtest/gtest.h"
#include "tests/fuzz/check_graph.h"
#include "tests/fuzz/small_numbers.h"

namespace tailor {
namespace {

constexpr uint64_t kSeeds = 3;  // four shapes each

void ExpectRight(const std::string& text) {
  const auto graph = ParseGraph(text, SmallNumbers);
  ASSERT_TRUE(graph.ok()) << graph.status() << "\n" << text;
  for (const auto& device : DevicesUnderTest()) {
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
      const CheckResult result = CheckGraphInChild(*graph, *device, seed);
      EXPECT_EQ(result.failure, "") << device->name() << ", seed " << seed << "\n" << text;
      EXPECT_GT(result.compared, 0);
    }
  }
}

TEST(Transpositions, OfAllTypes) {
  for (const char* dtype : {"f32", "f16", "bf16", "f64", "i64", "i32", "u8", "bool"}) {
    ExpectRight(
        absl::StrCat("graph @g(%x: ", dtype, "[R, C]) {\n  %y = transpose %x {permutation = [1, 0]}\n  return %y\n}"));
  }
}

TEST(Transpositions, OfSomeDims) {
  for (const char* perm : {"[0, 2, 1]", "[2, 1, 0]", "[2, 0, 1]", "[1, 2, 0]"}) {
    ExpectRight(
        absl::StrCat("graph @g(%x: f32[B, R, C]) {\n  %y = transpose %x {permutation = ", perm, "}\n  return %y\n}"));
  }
}

TEST(Transpositions, OfShortRows) {
  for (const char* dims : {"[R, 3]", "[R, 4]", "[3, C]", "[2, C]", "[R, 17]", "[70, C]"}) {
    ExpectRight(
        absl::StrCat("graph @g(%x: f32", dims, ") {\n  %y = transpose %x {permutation = [1, 0]}\n  return %y\n}"));
  }
}

TEST(Transpositions, ComputeOnTheWay) {
  ExpectRight(R"(
graph @g(%x: f32[R, C], %bias: f32[R], %scale: f32[C, 1], %z: f32[R, C], %w: f32[C, R]) {
  %t = transpose %x {permutation = [1, 0]}
  %u = transpose %z {permutation = [1, 0]}
  %a = add %t, %bias
  %b = mul %a, %scale
  %c = sub %b, %u
  %e = tanh %c
  %y = add %e, %w
  return %y
})");
}

TEST(Transpositions, WriteSeveralOutputs) {
  ExpectRight(R"(
graph @g(%x: f32[R, C]) {
  %t = transpose %x {permutation = [1, 0]}
  %y = neg %t
  %z = mul %t, %t
  return %y, %z
})");
}

TEST(Transpositions, BesideWhatMayBroadcast) {
  ExpectRight(R"(
graph @g(%x: f32[R, C], %w: f32[P, Q]) {
  %t = transpose %x {permutation = [1, 0]}
  %y = add %t, %w
  return %y
})");
}

TEST(Transpositions, ReadPartsOfRows) {
  ExpectRight(R"(
graph @g(%x: f32[R, 3*C + 50]) {
  %s = slice %x {starts = [0, 40], sizes = [R, C + 1], steps = [1, 1]}
  %v = constant 7 : f32[]
  %p = pad %s, %v {low = [1, 2], high = [2, 20]}
  %y = transpose %p {permutation = [1, 0]}
  return %y
})");
}

TEST(Transpositions, ReadRowsByIndex) {
  ExpectRight(R"(
graph @g(%x: f32[R, C], %i: i64[N]) {
  %g = gather %x, %i {axis = 0}
  %y = transpose %g {permutation = [1, 0]}
  return %y
})");
}

// Heads of a merged projection, the keys transposed: what attention packs.
TEST(Transpositions, OfHeads) {
  ExpectRight(R"(
graph @g(%x: f32[B, S, 72]) {
  %s = slice %x {starts = [0, 0, 24], sizes = [B, S, 24], steps = [1, 1, 1]}
  %h = reshape %s {shape = [B, S, 4, 6]}
  %y = transpose %h {permutation = [0, 2, 3, 1]}
  return %y
})");
}

}  // namespace
}  // namespace tailor
