#include "analysis/known_values.h"

#include <string>

#include "graph/text.h"
#include "gtest/gtest.h"

namespace tailor {
namespace {

// The known values of a graph's outputs: "3*N + 1; ?". Input 0 is N, input 1 is 5; others are not known.
std::string ValuesOf(const std::string& text) {
  const auto graph = ParseGraph(text);
  if (!graph.ok()) return graph.status().ToString();
  const KnownValues known(*graph, {.input = [](int input) -> std::optional<DimExpr> {
                                     if (input == 0) return DimExpr::Symbol(0);
                                     return input == 1 ? std::optional<DimExpr>(5) : std::nullopt;
                                   },
                                   .symbol = DimExpr::Symbol});
  std::string out;
  for (const Output& output : graph->outputs()) {
    const std::optional<DimExpr>& value = known.of(output.value);
    out += (out.empty() ? "" : "; ") + (value ? graph->DimText(*value) : "?");
  }
  return out;
}

TEST(KnownValues, ArithmeticOfOneElement) {
  EXPECT_EQ(ValuesOf(R"(
graph @g(%n: i64[], %five: i64[1], %x: f32[N]) {
  %positions = iota {shape = [N + 1], axis = 0, dtype = i64}
  %count = slice %positions {starts = [N], sizes = [1]}
  %sum = add %count, %five
  %flat = reshape %sum {shape = []}
  %less = sub %flat, %n
  %most = max %flat, %n
  %two = constant 2 : i64[]
  %least = min %most, %two
  %wide = broadcast %least {shape = [1, 1]}
  return %sum, %less, %most, %wide
})"),
            "N + 5; 5; N + 5; min(N + 5, 2)");
}

TEST(KnownValues, Truth) {
  EXPECT_EQ(ValuesOf(R"(
graph @g(%n: i64[], %five: i64[], %x: f32[N]) {
  %three = constant 3 : i64[]
  %below = lt %n, %five
  %above = ge %three, %five
  %either = or %below, %above
  %not = not %either
  %same = eq %five, %five
  %number = cast %below {dtype = i64}
  %truth = cast %five {dtype = bool}
  %chosen = select %same, %three, %n
  return %below, %above, %not, %same, %number, %truth, %chosen
})"),
            "min(max(0, -N + 5), 1); 0; -max(0, min(max(0, -N + 5), 1)) + 1; 1; min(max(0, -N + 5), 1); 1; 3");
}

TEST(KnownValues, NothingElse) {
  EXPECT_EQ(ValuesOf(R"(
graph @g(%n: i64[], %five: i64[], %x: f32[N], %m: i64[], %i: i32[]) {
  %product = mul %n, %five
  %float = constant 1 : f32[]
  %sum = add %n, %m
  %narrow = cast %n {dtype = i32}
  %least = constant -9223372036854775808 : i64[]
  %large = constant 9223372036854775805 : i64[]
  %beyond = add %n, %large
  %bits = and %n, %five
  %inverse = not %n
  return %product, %float, %sum, %i, %narrow, %least, %bits, %inverse, %beyond
})"),
            "?; ?; ?; ?; ?; ?; ?; ?; ?");
}

}  // namespace
}  // namespace tailor
