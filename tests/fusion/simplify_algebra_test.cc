#include "fusion/simplify_algebra.h"

#include <gtest/gtest.h>

#include <string>

#include "fusion/remove_dead_nodes.h"
#include "absl/strings/str_replace.h"
#include "tests/fusion/fused_text.h"

namespace tailor {
namespace {

absl::StatusOr<Graph> Simplified(const Graph& graph, const ShapeFacts& facts) {
  absl::StatusOr<Graph> simplified = SimplifyAlgebra(graph, facts);
  return simplified.ok() ? RemoveDeadNodes(*simplified, facts) : simplified;
}

// The graph text of `body` over float x and integer i.
std::string Wrap(const std::string& body) { return "graph @g(%x: f32[N], %i: i32[N]) {\n" + body + "}\n"; }

TEST(SimplifyAlgebra, NeutralOperandsGo) {
  EXPECT_EQ(TextAfter(Simplified, Wrap(R"(
  %one = constant 1 : f32[]
  %zero = constant 0 : f32[]
  %minus_zero = constant -0 : f32[]
  %a = mul %one, %x
  %b = div %a, %one
  %c = sub %b, %zero
  %d = add %c, %minus_zero
  %e = pow %d, %one
  %f = cast %e {dtype = f32}
  %y = neg %f
  %none = constant 0 : i32[]
  %j = add %none, %i
  %k = neg %j
  return %y, %k
)")),
            Wrap(R"(  %y = neg %x : f32[N]
  %k = neg %i : i32[N]
  return %y, %k
)"));
}

TEST(SimplifyAlgebra, SignedZerosAreSafe) {
  const std::string text = Wrap(R"(  %zero = constant 0 : f32[]
  %minus_zero = constant -0 : f32[]
  %a = add %x, %zero : f32[N]
  %b = sub %x, %minus_zero : f32[N]
  %c = mul %x, %zero : f32[N]
  %d = sub %zero, %x : f32[N]
  return %a, %b, %c, %d
)");
  EXPECT_EQ(TextAfter(Simplified, text), text);
}

TEST(SimplifyAlgebra, TypesStay) {
  const std::string text = R"(graph @g(%s: f32[], %x: f32[N]) {
  %one = constant [1] : f32[1]
  %a = mul %s, %one : f32[1]
  %b = add %a, %x : f32[N]
  return %b
}
)";
  EXPECT_EQ(TextAfter(Simplified, text), text);
}

TEST(SimplifyAlgebra, Square) {
  EXPECT_EQ(TextAfter(Simplified, Wrap(R"(
  %two = constant 2 : f32[]
  %a = pow %x, %two
  return %a
)")),
            Wrap(R"(  %a = mul %x, %x : f32[N]
  return %a
)"));
}

constexpr char kScores[] = R"(
graph @g(%q: f32[B, M, 64], %k: f32[B, N, 64]) {
  %a = constant 0.5 : f32[]
  %b = constant 0.25 : f32[]
  %x = mul %q, %a
  %turned = transpose %k {permutation = [0, 2, 1]}
  %y = mul %b, %turned
  %scores = dot %x, %y
  return %scores)";

TEST(ScaleOneOperand, TheLhs) {
  EXPECT_EQ(TextAfter(ScaleOneOperand, std::string(kScores) + "\n}"),
            R"(graph @g(%q: f32[B, M, 64], %k: f32[B, N, 64]) {
  %a = constant 0.5 : f32[]
  %b = constant 0.25 : f32[]
  %x = mul %q, %a : f32[B, M, 64]
  %turned = transpose %k {permutation = [0, 2, 1]} : f32[B, 64, N]
  %y = mul %b, %turned : f32[B, 64, N]
  %7 = mul %x, %b : f32[B, M, 64]
  %scores = dot %7, %turned : f32[B, M, N]
  return %scores
}
)");
}

TEST(ScaleOneOperand, NotWhatIsReadElsewhereOrLeavesTheRange) {
  const auto keeps = [](const std::string& text) {
    const std::string after = TextAfter(ScaleOneOperand, text);
    EXPECT_NE(after.find("dot %x, %y"), std::string::npos) << after;
  };
  keeps(std::string(kScores) + ", %y\n}");
  for (const char* scale : {"1.5", "1e-9", "0"}) {
    keeps(absl::StrReplaceAll(std::string(kScores) + "\n}", {{"0.25", scale}}));
  }
  keeps(absl::StrReplaceAll(std::string(kScores) + "\n}", {{"f32", "f16"}}));
}

}  // namespace
}  // namespace tailor
