#include "analysis/symbol_binding.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "graph/text.h"
#include "tests/analysis/parsed_facts.h"

namespace tailor {
namespace {

std::string Bindings(const std::string& arguments) {
  absl::StatusOr<Graph> graph = ParseGraph("graph @g(" + arguments + " {\n  return %x\n}\n");
  if (!graph.ok()) return std::string(graph.status().message());
  std::string text;
  for (const SymbolBinding& b : BindSymbols(*graph)) {
    absl::StrAppend(&text, graph->symbol(b.symbol).name, ": ", InputDimText(*graph, b.input, b.dim), " = ",
                    b.coefficient, "*", graph->symbol(b.symbol).name, " + ", b.offset, "\n");
  }
  return text;
}

std::string Messages(const std::string& arguments) {
  return CheckMessages("graph @g(" + arguments + " {\n  return %x\n}\n");
}

TEST(SymbolBinding, PrefersThePlainDimAndTheFirstInput) {
  EXPECT_EQ(Bindings("%x: f32[4*S, T + 1], %y: f32[S + 2, S, T], %z: f32[S, T])"),
            R"(S: input "y" dim 1 = 1*S + 0
T: input "y" dim 2 = 1*T + 0
)");
  EXPECT_EQ(Bindings("%x: f32[4*S], %y: f32[S - 2])"), "S: input \"y\" dim 0 = 1*S + -2\n");
  EXPECT_EQ(Bindings("%x: f32[3*S + 1, S*T, 5 - T])"), "S: input \"x\" dim 0 = 3*S + 1\n");
}

TEST(SymbolBinding, EveryOtherDimIsChecked) {
  EXPECT_EQ(Messages("%x: i64[B, S], %mask: f32[B, 384], %w: f32[4*S, B*S + 1]) where B in [1, 8], S in [0, 9]"),
            R"(input "mask" dim 0 is {lhs}, but B is {rhs} from input "x" dim 0
input "mask" dim 1 is {lhs}, but must be {rhs}
input "w" dim 0 is {lhs}, but 4*S is {rhs} with S from input "x" dim 1
input "w" dim 1 is {lhs}, but B*S + 1 is {rhs} with B from input "x" dim 0 and S from input "x" dim 1
B is {lhs} from input "x" dim 0, but must be at least {rhs}
B is {lhs} from input "x" dim 0, but must be at most {rhs}
S is {lhs} from input "x" dim 1, but must be at most {rhs}
)");
}

TEST(SymbolBinding, ScaledDimsMustHaveTheirForm) {
  EXPECT_EQ(Messages("%x: f32[4*S, 3*T + 2, U + 1, V - 3]) where S in [1, 9], T in [0, 9], U in [0, 9], V in [2, 9]"),
            R"(input "x" dim 0 is {lhs}, but 4*S is a multiple of {rhs}
input "x" dim 1 is {lhs}, but 3*T + 2 is at least {rhs}
input "x" dim 1 is {lhs}, but must have the form 3*T + 2
input "x" dim 2 is {lhs}, but U + 1 is at least {rhs}
S is {lhs} from input "x" dim 0, but must be at least {rhs}
S is {lhs} from input "x" dim 0, but must be at most {rhs}
T is {lhs} from input "x" dim 1, but must be at most {rhs}
U is {lhs} from input "x" dim 2, but must be at most {rhs}
V is {lhs} from input "x" dim 3, but must be at most {rhs}
)");
}

TEST(SymbolBinding, RawDimSizesAreNamedByInputAndDim) {
  ParsedFacts f("graph @g(%x: f32[S], %y: f32[2, S]) {\n  return %x\n}\n");
  ASSERT_EQ(f.facts.checks().size(), 3u);
  EXPECT_EQ(f.facts.checks()[1].input, 1);
  EXPECT_EQ(f.facts.checks()[1].dim, 1);
  EXPECT_EQ(f.facts.checks()[2].input, -1);
  EXPECT_EQ(f.facts.checks()[2].lhs, f.Dim("S"));
}

TEST(SymbolBinding, DerivedSymbolsAreCheckedThroughTheirExpression) {
  EXPECT_EQ(CheckMessages(R"(
graph @g(%x: f32[B, S]) where B in [0, 8], S in [0, 9], M in [0, 40], N in [0, 72], M == B*S, N == M {
  %y = reshape %x {shape = [M]}
  return %y
}
)"),
            R"(B is {lhs} from input "x" dim 0, but must be at most {rhs}
S is {lhs} from input "x" dim 1, but must be at most {rhs}
M = B*S is {lhs} with B from input "x" dim 0 and S from input "x" dim 1, but must be at most {rhs}
)");
}

TEST(SymbolBinding, UnusedSymbolsNeedNoValue) {
  EXPECT_EQ(Messages("%x: f32[3]) where T in [0, 4]"), "input \"x\" dim 0 is {lhs}, but must be {rhs}\n");
}

}  // namespace
}  // namespace tailor
