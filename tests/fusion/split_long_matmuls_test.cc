#include "fusion/split_long_matmuls.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/fusion/fused_text.h"

namespace tailor {
namespace {

std::string Matmul(const std::string& x, const std::string& w, const std::string& attributes, const std::string& y) {
  return absl::StrCat("graph @g(%x: ", x, ", %w: ", w, ") {\n  %y = dot %x, %w", attributes, " : ", y,
                      "\n  return %y\n}\n");
}

TEST(SplitLongMatmuls, PartsOfTheDepthAreABatchThatIsSummed) {
  EXPECT_EQ(TextAfter(SplitLongMatmuls, Matmul("f32[M, 10000]", "f32[10000, 64]", "", "f32[M, 64]")),
            R"(graph @g(%x: f32[M, 10000], %w: f32[10000, 64]) {
  %2 = reshape %x {shape = [M, 4, 2500]} : f32[M, 4, 2500]
  %3 = transpose %2 {permutation = [1, 0, 2]} : f32[4, M, 2500]
  %4 = reshape %w {shape = [4, 2500, 64]} : f32[4, 2500, 64]
  %5 = dot %3, %4 : f32[4, M, 64]
  %y = reduce_sum %5 {axes = [0]} : f32[M, 64]
  return %y
}
)");
}

TEST(SplitLongMatmuls, OthersStayWhole) {
  const std::string whole[] = {
      Matmul("f32[M, 8191]", "f32[8191, 64]", "", "f32[M, 64]"),     // short
      Matmul("f32[M, 8209]", "f32[8209, 64]", "", "f32[M, 64]"),     // prime
      Matmul("f32[M, 8192]", "f32[8192, 257]", "", "f32[M, 257]"),   // columns enough for threads
      Matmul("f32[M, K]", "f32[K, 64]", "", "f32[M, 64]"),           // unknown
      Matmul("f32[M, 8192]", "f32[K, 64]", "", "f32[M, 64]"),        //
      Matmul("f32[M, 8192]", "f32[8192, N]", "", "f32[M, N]"),       //
      Matmul("bf16[M, 8192]", "bf16[8192, 64]", "", "bf16[M, 64]"),  // parts would be rounded
      Matmul("f32[M, 8192]", "f32[64, 8192]", " {transpose_rhs = 1}", "f32[M, 64]"),
      Matmul("f32[B, M, 8192]", "f32[8192, 64]", "", "f32[B, M, 64]")};
  for (const std::string& text : whole) EXPECT_EQ(TextAfter(SplitLongMatmuls, text), text);
}

}  // namespace
}  // namespace tailor
