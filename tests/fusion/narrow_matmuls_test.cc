#include "fusion/narrow_matmuls.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/fusion/fused_text.h"

namespace tailor {
namespace {

std::string Matmul(const std::string& x, const std::string& w, const std::string& attributes, const std::string& y) {
  return absl::StrCat("graph @g(%x: ", x, ", %w: ", w, ") {\n  %y = dot %x, %w", attributes, " : ", y,
                      "\n  return %y\n}\n");
}

TEST(NarrowMatmuls, AMatrixTimesAVectorIsAReduction) {
  EXPECT_EQ(TextAfter(NarrowMatmuls, Matmul("f32[B, M, 100]", "f32[100, 1]", "", "f32[B, M, 1]")),
            R"(graph @g(%x: f32[B, M, 100], %w: f32[100, 1]) {
  %2 = reshape %w {shape = [1, 100]} : f32[1, 100]
  %3 = mul %x, %2 : f32[B, M, 100]
  %y = reduce_sum %3 {axes = [2], keep_dims = 1} : f32[B, M, 1]
  return %y
}
)");
  EXPECT_EQ(TextAfter(NarrowMatmuls,
                      Matmul("bf16[100, M]", "bf16[1, 100]", " {transpose_lhs = 1, transpose_rhs = 1}", "bf16[M, 1]")),
            R"(graph @g(%x: bf16[100, M], %w: bf16[1, 100]) {
  %2 = cast %x {dtype = f32} : f32[100, M]
  %3 = cast %w {dtype = f32} : f32[1, 100]
  %4 = reshape %3 {shape = [100, 1]} : f32[100, 1]
  %5 = mul %2, %4 : f32[100, M]
  %6 = reduce_sum %5 {axes = [0]} : f32[M]
  %7 = reshape %6 {shape = [M, 1]} : f32[M, 1]
  %y = cast %7 {dtype = bf16} : bf16[M, 1]
  return %y
}
)");
}

TEST(NarrowMatmuls, AnOuterProductIsASumOfProducts) {
  EXPECT_EQ(TextAfter(NarrowMatmuls, Matmul("f32[M, 2]", "f32[64, 2]", " {transpose_rhs = 1}", "f32[M, 64]")),
            R"(graph @g(%x: f32[M, 2], %w: f32[64, 2]) {
  %2 = slice %x {starts = [0, 0], sizes = [M, 1]} : f32[M, 1]
  %3 = slice %w {starts = [0, 0], sizes = [64, 1]} : f32[64, 1]
  %4 = reshape %3 {shape = [1, 64]} : f32[1, 64]
  %5 = mul %2, %4 : f32[M, 64]
  %6 = slice %x {starts = [0, 1], sizes = [M, 1]} : f32[M, 1]
  %7 = slice %w {starts = [0, 1], sizes = [64, 1]} : f32[64, 1]
  %8 = reshape %7 {shape = [1, 64]} : f32[1, 64]
  %9 = mul %6, %8 : f32[M, 64]
  %y = add %5, %9 : f32[M, 64]
  return %y
}
)");
}

TEST(NarrowMatmuls, AnOuterProductHasUpToEightTerms) {
  const std::string text = TextAfter(NarrowMatmuls, Matmul("f32[M, 8]", "f32[8, 1024]", "", "f32[M, 1024]"));
  EXPECT_EQ(text.find("dot"), std::string::npos) << text;
  size_t terms = 0;
  for (size_t at = text.find(" = mul "); at != std::string::npos; at = text.find(" = mul ", at + 1)) ++terms;
  EXPECT_EQ(terms, 8) << text;
}

// A matmul's staging reads the patches of an image in runs, loops one by one.
TEST(NarrowMatmuls, ProductsOfWindowsStay) {
  const std::string text = TextAfter(NarrowMatmuls, R"(
graph @g(%x: f32[N, H, W], %w: f32[64, 4]) where H in [2, 100], W in [2, 100] {
  %v = window %x {axes = [1, 2], sizes = [2, 2]}
  %t = transpose %v {permutation = [0, 3, 4, 1, 2]}
  %p = reshape %t {shape = [N, 4, (H - 1)*(W - 1)]}
  %y = dot %p, %w {transpose_lhs = 1, transpose_rhs = 1}
  return %y
})");
  EXPECT_NE(text.find("dot"), std::string::npos) << text;
}

TEST(NarrowMatmuls, OthersStay) {
  const std::string whole[] = {
      Matmul("f32[M, 15]", "f32[15, 1]", "", "f32[M, 1]"),      // shorter than a vector
      Matmul("f32[M, 8193]", "f32[8193, 1]", "", "f32[M, 1]"),  // may be summed in parts
      Matmul("f32[M, K]", "f32[K, 1]", "", "f32[M, 1]"),        //
      Matmul("f32[M, 100]", "f32[100, N]", "", "f32[M, N]"),    // N is no constant
      Matmul("f32[M, 9]", "f32[9, 64]", "", "f32[M, 64]"),      // more than an outer product
      Matmul("f32[M, 8]", "f32[8, 1025]", "", "f32[M, 1025]"),  // rows beyond the first-level cache
      Matmul("f32[M, 3]", "f32[3, N]", "", "f32[M, N]"),        // perhaps
      Matmul("f32[M, 4]", "f32[4, 15]", "", "f32[M, 15]"),      // less than a vector of columns
      Matmul("f32[M, 100]", "f32[100, 2]", "", "f32[M, 2]")};
  for (const std::string& text : whole) EXPECT_EQ(TextAfter(NarrowMatmuls, text), text);
}

}  // namespace
}  // namespace tailor
