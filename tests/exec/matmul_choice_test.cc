#include "exec/matmul_choice.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tailor {
namespace {

using ::testing::StartsWith;

GemmArgs Gemm(int64_t batch, int64_t m, int64_t n, int64_t k) {
  GemmArgs gemm{};
  gemm.batch = batch;
  gemm.m = m;
  gemm.n = n;
  gemm.k = k;
  return gemm;
}

constexpr char kTree[] = R"(# of a machine
if m <= 24.5
  own
else
  if n * k <= 1e+06
    provider
  else
    if k <= 100
      own
    else
      provider
)";

TEST(MatmulChoice, WithoutATreeAllAreTaken) { EXPECT_TRUE(MatmulChoice().Takes(Gemm(1, 1, 1, 1))); }

TEST(MatmulChoice, FollowsTheTree) {
  MatmulChoice choice;
  ASSERT_EQ(choice.Parse(kTree), "");
  EXPECT_FALSE(choice.Takes(Gemm(1, 24, 64, 64)));
  EXPECT_TRUE(choice.Takes(Gemm(1, 25, 64, 64)));
  EXPECT_TRUE(choice.Takes(Gemm(5, 5, 64, 64)));  // a batch counts as rows
  EXPECT_FALSE(choice.Takes(Gemm(1, 25, 100000, 100)));
  EXPECT_TRUE(choice.Takes(Gemm(1, 25, 100000, 101)));
}

TEST(MatmulChoice, TellsWhichLineIsWrongAndStaysAsItWas) {
  MatmulChoice choice;
  ASSERT_EQ(choice.Parse("own\n"), "");
  EXPECT_EQ(choice.Parse("if m <= 4\n  own\n"), "line 2: a branch is missing");
  EXPECT_EQ(choice.Parse("if m <= 4\n  own\nelse\n own\n"), "line 4: expected 2 spaces before it");
  EXPECT_EQ(choice.Parse("if rows <= 4\n  own\nelse\n  own\n"), "line 1: no such feature");
  EXPECT_EQ(choice.Parse("if m <= four\n  own\nelse\n  own\n"), "line 1: \"four\" is no number");
  EXPECT_EQ(choice.Parse("if m <= 4\n  own\nor\n  own\n"), "line 3: expected \"else\"");
  EXPECT_THAT(choice.Parse("perhaps\n"), StartsWith("line 1: expected \"own\""));
  EXPECT_EQ(choice.Parse("own\nown\n"), "line 2: the tree has ended");
  EXPECT_EQ(choice.Parse(""), "line 0: a branch is missing");
  EXPECT_FALSE(choice.Takes(Gemm(1, 1, 1, 1)));
}

TEST(MatmulChoice, ATreeTooDeepIsRefused) {
  std::string text;
  for (int depth = 0; depth < 40; ++depth) text += std::string(2 * depth, ' ') + "if m <= 1\n";
  MatmulChoice choice;
  EXPECT_EQ(choice.Parse(text), "line 34: the tree is too deep");
}

}  // namespace
}  // namespace tailor
