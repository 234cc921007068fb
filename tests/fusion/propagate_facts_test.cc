#include "fusion/propagate_facts.h"

#include <gtest/gtest.h>

#include "fusion/facts_text.h"
#include "graph/text.h"

namespace tailor {
namespace {

// Region `region` of the last node, told what is known around it.
std::string Told(const std::string& text, int region) {
  auto graph = ParseGraph(text);
  if (!graph.ok()) return graph.status().ToString();
  auto facts = ShapeFacts::Collect(*graph);
  if (!facts.ok()) return facts.status().ToString();
  auto told = PropagateFacts(*graph, *facts, static_cast<NodeId>(graph->nodes().size()) - 1, region);
  return told.ok() ? "\n" + told->ToText() : told.status().ToString();
}

TEST(PropagateFacts, RangesDivisorsLikelyValuesAndEqualities) {
  EXPECT_EQ(Told(R"(
graph @g(%c: bool[], %x: f32[16*S, T], %y: f32[T]) where S in [1, 4], T in [8, 64] multiple_of 8 likely [8, 32] {
  %z = if(%c, %x, %y) {
    region(%a: f32[N, M], %b: f32[K]) where N, M, K { return %b }
    region(%a: f32[N, M], %b: f32[K]) where N, M, K { %n = neg %b return %n }
  }
  return %z
})",
                 1),
            R"(
graph @region(%a: f32[N, M], %b: f32[K]) where N in [16, 64] multiple_of 16, M in [8, 64] multiple_of 8 likely [8, 32], K in [8, 64] multiple_of 8 likely [8, 32], M == K {
  %n = neg %b : f32[K]
  return %n
}
)");
}

// The body doubles N, so only M is what it was.
TEST(PropagateFacts, WhatALoopChangesIsNotKnown) {
  EXPECT_EQ(Told(R"(
graph @g(%x: f32[S, T]) where S in [1, 4], T in [8, 64], R {
  %z = while(%x) {shapes = [R, T]} {
    region(%a: f32[N, M]) where N, M { %no = constant false : bool[] return %no }
    region(%a: f32[N, M]) where N, M { %b = concat %a, %a {axis = 0} return %b }
  }
  return %z
})",
                 1),
            R"(
graph @region(%a: f32[N, M]) where M in [8, 64] {
  %b = concat %a, %a {axis = 0} : f32[2*N, M]
  return %b
}
)");
}

// Facts of the region's own that contradict are left to its checks when it runs.
TEST(PropagateFacts, TheRegionsOwnRangeStaysWhereNothingFits) {
  EXPECT_EQ(Told(R"(
graph @g(%c: bool[], %x: f32[S]) where S in [1, 4] {
  %z = if(%c, %x) {
    region(%a: f32[N]) where N in [8, 9] { return %a }
    region(%a: f32[N]) where N in [8, 9] { return %a }
  }
  return %z
})",
                 0),
            R"(
graph @region(%a: f32[N]) where N in [8, 9] {
  return %a
}
)");
  EXPECT_EQ(Told(R"(
graph @g(%c: bool[], %x: f32[4*S]) {
  %z = if(%c, %x) {
    region(%a: f32[N]) where N in [5, 7] { return %a }
    region(%a: f32[N]) where N in [5, 7] { return %a }
  }
  return %z
})",
                 0),
            R"(
graph @region(%a: f32[N]) where N in [5, 7] {
  return %a
}
)");
}

TEST(FactsText, ShowsRegionsUnderTheirNames) {
  auto graph = ParseGraph(R"(
graph @g(%x: f32[S], %n: i64[], %c: bool[]) where S in [1, 4], N {
  %z = if(%c, %x) {
    region(%a: f32[P]) where P { return %a }
    region(%a: f32[P]) where P { %n = neg %a return %n }
  }
  %m = bind %n {extent = [N]}
  %i = iota {shape = [N], axis = 0, dtype = i64}
  return %z, %i
})");
  ASSERT_TRUE(graph.ok()) << graph.status();
  auto text = FactsText(*graph);
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(*text, R"(symbols
  S in [1, 4] from "x" dim 0
  N in [0, 2147483647]
facts
  S in [1, 4]: declared
checks
  0: S >= 1 | S is {lhs} from input "x" dim 0, but must be at least {rhs}
  1: S <= 4 | S is {lhs} from input "x" dim 0, but must be at most {rhs}
-- then branch of if %z
symbols
  P in [1, 4] from "a" dim 0
facts
  P in [1, 4]: declared
checks
  0: P >= 1 | P is {lhs} from input "a" dim 0, but must be at least {rhs}
  1: P <= 4 | P is {lhs} from input "a" dim 0, but must be at most {rhs}
-- else branch of if %z
symbols
  P in [1, 4] from "a" dim 0
facts
  P in [1, 4]: declared
checks
  0: P >= 1 | P is {lhs} from input "a" dim 0, but must be at least {rhs}
  1: P <= 4 | P is {lhs} from input "a" dim 0, but must be at most {rhs}
-- continuation after data-dependent N
symbols
  N in [0, 2147483647] from "dim size N" dim 0
facts
checks
  0: N <= 2147483647 | N is {lhs} from input "dim size N" dim 0, but must be at most {rhs}
)");
}

}  // namespace
}  // namespace tailor
