// Matmuls and convolutions of i16, and of u8 by i8, whose sums are i32, against the reference.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
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

// K is whole words or not, short or a symbol; the rhs is a constant, an input, or has one column.
void ExpectMatmulsRight(const char* lhs, const char* rhs) {
  for (const char* graph : {
           "(%x: L[B, M, 33]) {\n  %w = constant @w : R[33, 40]\n  %y = dot %x, %w",
           "(%x: L[M, 192]) {\n  %w = constant @w : R[7, 192]\n  %y = dot %x, %w {transpose_rhs = 1}",
           "(%x: L[K, M], %w: R[K, N]) {\n  %y = dot %x, %w {transpose_lhs = 1}",
           "(%x: L[M, 3], %w: R[3, N]) {\n  %y = dot %x, %w",
           "(%x: L[M, 1100]) {\n  %w = constant @w : R[1100, 40]\n  %y = dot %x, %w",
           "(%x: L[M, 20]) {\n  %w = constant @w : R[20, 1]\n  %y = dot %x, %w",
       }) {
    const std::string typed = absl::StrReplaceAll(graph, {{"L[", lhs}, {"R[", rhs}});
    const auto parsed =
        ParseGraph(absl::StrCat("graph @g", typed, "\n  %z = add %y, %y\n  return %y, %z\n}"), SmallNumbers);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    ExpectRight(*parsed, typed);
  }
}

TEST(IntegerMatmuls, OfI16) { ExpectMatmulsRight("i16[", "i16["); }
TEST(IntegerMatmuls, OfBytes) { ExpectMatmulsRight("u8[", "i8["); }

// Sums of products of the least i16 wrap, and those of the extremes of bytes are exact.
TEST(IntegerMatmuls, OfExtremes) {
  constexpr char kGraph[] = R"(graph @g(%x: LHS[M, K], %w: RHS[K, N]) {
  %a = constant EXTREME : LHS[]
  %b = constant LEAST : RHS[]
  %c = FIT %x, %a
  %d = min %w, %b
  %y = dot %c, %d
  return %y
})";
  using Words = std::vector<std::pair<const char*, const char*>>;
  for (const Words& words :
       {Words{{"LHS", "i16"}, {"RHS", "i16"}, {"EXTREME", "-32768"}, {"LEAST", "-32768"}, {"FIT", "min"}},
        Words{{"LHS", "u8"}, {"RHS", "i8"}, {"EXTREME", "255"}, {"LEAST", "-128"}, {"FIT", "max"}}}) {
    const auto graph = ParseGraph(absl::StrReplaceAll(kGraph, words));
    ASSERT_TRUE(graph.ok()) << graph.status();
    ExpectRight(*graph, words[0].second);
  }
}

void ExpectConvolutionsRight(const std::string& image, const std::string& weights) {
  struct Form {
    const char* x;
    const char* weights;
    Windows windows;
    int64_t groups = 1;
  };
  for (const Form& form : {Form{"N, 5, H, W", "20, 5, 3, 3", {.low = {1, 1}, .high = {1, 1}}},
                           Form{"N, 16, H, 9", "6, 16, 1, 1", {.strides = {2, 2}}},
                           Form{"1, 4, 7, 20", "17, 4, 1, 3", {}},  // two panels of results along rows
                           Form{"N, 6, 8, W", "6, 1, 3, 3", {.low = {1, 1}, .high = {1, 1}}, 6},
                           Form{"N, 6, H, 7", "4, 3, 1, 1", {.low = {1, 0}, .high = {1, 0}}, 2},
                           Form{"1, 32, H, W", "24, 32, 3, 3", {.low = {1, 1}, .high = {1, 1}}},
                           Form{"1, 24, H, W", "20, 24, 2, 3", {.strides = {2, 2}, .low = {0, 1}, .high = {1, 1}}},
                           Form{"1, 12, 9, W", "40, 12, 3, 3", {.strides = {3, 3}}},
                           Form{"1, 130, 5, W", "18, 130, 3, 3", {.low = {1, 1}, .high = {1, 1}}},  // parts of K
                           Form{"1, 3, H, 40", "33, 3, 5, 5", {.strides = {2, 2}, .low = {2, 2}, .high = {2, 2}}}}) {
    Graph graph = *ParseGraph(absl::StrCat("graph @conv(%x: ", image, "[", form.x,
                                           "]) {\n  %w = constant @w : ", weights, "[", form.weights, "]\n  return\n}"),
                              SmallNumbers);
    const auto y = Conv(graph, {0, 0}, {1, 0}, {}, form.windows, form.groups);
    ASSERT_TRUE(y.ok()) << y.status();
    EXPECT_EQ(graph.type(*y).dtype, DType::kI32);
    ASSERT_TRUE(graph.AddOutput("y", *y).ok());
    ExpectRight(graph, absl::StrCat(image, " ", form.x));
  }
}

TEST(IntegerMatmuls, Convolutions) {
  ExpectConvolutionsRight("i16", "i16");
  ExpectConvolutionsRight("u8", "i8");
}

}  // namespace
}  // namespace tailor
