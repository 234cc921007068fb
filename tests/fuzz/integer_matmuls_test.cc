// Matmuls and convolutions of i16, whose sums are i32, against the reference.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/convolution.h"
#include "graph/text.h"
#include "gtest/gtest.h"
#include "tests/fuzz/check_graph.h"
#include "tests/fuzz/small_numbers.h"

namespace tailor {
namespace {

void ExpectRight(const Graph& graph, const std::string& name) {
  for (const auto& device : DevicesUnderTest()) {
    const CheckResult result = CheckGraphInChild(graph, *device, 1);
    EXPECT_EQ(result.failure, "") << name << " on " << device->name();
    EXPECT_GT(result.compared, 0) << name;
  }
}

// K is odd, even, short or a symbol; the rhs is a constant, an input, or has one column.
TEST(IntegerMatmuls, OfI16) {
  for (const char* graph : {
           "(%x: i16[B, M, 33]) {\n  %w = constant @w : i16[33, 40]\n  %y = dot %x, %w",
           "(%x: i16[M, 64]) {\n  %w = constant @w : i16[7, 64]\n  %y = dot %x, %w {transpose_rhs = 1}",
           "(%x: i16[K, M], %w: i16[K, N]) {\n  %y = dot %x, %w {transpose_lhs = 1}",
           "(%x: i16[B, M, K], %w: i16[B, N, K]) {\n  %y = dot %x, %w {transpose_rhs = 1}",
           "(%x: i16[M, K], %w: i16[K, 1]) {\n  %y = dot %x, %w",
           "(%x: i16[M, 3], %w: i16[3, N]) {\n  %y = dot %x, %w",
           "(%x: i16[M, 20]) {\n  %w = constant @w : i16[20, 1]\n  %y = dot %x, %w",
       }) {
    const auto parsed =
        ParseGraph(absl::StrCat("graph @g", graph, "\n  %z = add %y, %y\n  return %y, %z\n}"), SmallNumbers);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    ExpectRight(*parsed, graph);
  }
}

// Sums of products of the least i16 wrap.
TEST(IntegerMatmuls, WrapAsTheReference) {
  const auto graph = ParseGraph(R"(graph @g(%x: i16[M, K], %w: i16[K, N]) {
  %least = constant -32768 : i16[]
  %a = min %x, %least
  %b = min %w, %least
  %y = dot %a, %b
  return %y
})");
  ASSERT_TRUE(graph.ok()) << graph.status();
  ExpectRight(*graph, "the least i16");
}

TEST(IntegerMatmuls, ConvolutionsOfI16) {
  struct Form {
    const char* x;
    const char* weights;
    Windows windows;
    int64_t groups = 1;
  };
  for (const Form& form : {Form{"N, 5, H, W", "20, 5, 3, 3", {.low = {1, 1}, .high = {1, 1}}},
                           Form{"N, 16, H, 9", "6, 16, 1, 1", {.strides = {2, 2}}},
                           Form{"N, 6, 8, W", "6, 1, 3, 3", {.low = {1, 1}, .high = {1, 1}}, 6},
                           Form{"N, 6, H, 7", "4, 3, 1, 1", {.low = {1, 0}, .high = {1, 0}}, 2}}) {
    Graph graph = *ParseGraph(
        absl::StrCat("graph @conv(%x: i16[", form.x, "]) {\n  %w = constant @w : i16[", form.weights, "]\n  return\n}"),
        SmallNumbers);
    const auto y = Conv(graph, {0, 0}, {1, 0}, {}, form.windows, form.groups);
    ASSERT_TRUE(y.ok()) << y.status();
    EXPECT_EQ(graph.type(*y).dtype, DType::kI32);
    ASSERT_TRUE(graph.AddOutput("y", *y).ok());
    ExpectRight(graph, form.x);
  }
}

}  // namespace
}  // namespace tailor
