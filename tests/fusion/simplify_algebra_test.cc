#include "fusion/simplify_algebra.h"

#include <gtest/gtest.h>

#include "fusion/remove_dead_nodes.h"
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

}  // namespace
}  // namespace tailor
