// Matmuls that share an operand, with columns that fill no panel, held against the reference as one matmul.
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "graph/text.h"
#include "gtest/gtest.h"
#include "tests/fuzz/check_graph.h"
#include "tests/fuzz/small_numbers.h"

namespace tailor {
namespace {

// The columns become a maximum, heads of another matmul, and gathered elements.
constexpr char kGraph[] = R"(
graph @g(%x: T[B, S, 12], %i: i64[B, S]) where B in [1, 8], S in [1, 40] {
  %wa = constant @wa : T[12, 3]
  %wb = constant @wb : T[12, 20]
  %wc = constant @wc : T[20, 12]
  %wd = constant @wd : T[12, 17]
  %bb = constant @bb : T[20]
  %bc = constant @bc : T[1, 20]
  %sd = constant @sd : T[]
  %tc = transpose %wc {permutation = [1, 0]}
  %a = dot %x, %wa
  %b = dot %x, %wb
  %c = dot %x, %tc
  %d = dot %x, %wd
  %b1 = add %b, %bb
  %c1 = add %bc, %c
  %d1 = mul %d, %sd
  %b2 = reshape %b1 {shape = [B, S, 4, 5]}
  %c2 = reshape %c1 {shape = [B, S, 4, 5]}
  %b3 = transpose %b2 {permutation = [0, 2, 1, 3]}
  %c3 = transpose %c2 {permutation = [0, 2, 3, 1]}
  %scores = dot %b3, %c3
  %top = reduce_max %a {axes = [2]}
  %rows = gather %d1, %i {axis = 2}
  return %scores, %top, %rows
})";

TEST(MergedMatmuls, AgreeWithTheReference) {
  for (const char* dtype : {"f32", "f64", "bf16", "i32"}) {
    const auto graph = ParseGraph(absl::StrReplaceAll(kGraph, {{"T[", std::string(dtype) + "["}}), SmallNumbers);
    ASSERT_TRUE(graph.ok()) << graph.status();
    for (const auto& device : DevicesUnderTest()) {
      const CheckResult result = CheckGraphInChild(*graph, *device, 1);
      EXPECT_EQ(result.failure, "") << dtype << " on " << device->name();
      EXPECT_GE(result.shapes, 3);
    }
  }
}

}  // namespace
}  // namespace tailor
