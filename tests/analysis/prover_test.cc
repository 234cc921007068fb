#include "analysis/prover.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/analysis/random_graph.h"
#include "tests/analysis/sampled_dims.h"

namespace tailor {
namespace {

bool DeclarationsHold(const Graph& graph, absl::Span<const int64_t> symbols) {
  for (size_t id = 0; id < symbols.size(); ++id) {
    const SymbolInfo& info = graph.symbols()[id];
    if (symbols[id] < info.min || symbols[id] > info.max || symbols[id] % info.multiple_of != 0) return false;
  }
  return true;
}

bool ObligationsHold(absl::Span<const Obligation> obligations, absl::Span<const int64_t> symbols) {
  return std::all_of(obligations.begin(), obligations.end(), [&](const Obligation& o) {
    return Holds(o.relation, ValueOf(o.lhs, symbols), ValueOf(o.rhs, symbols));
  });
}

// Of each shape that tensors can have, over values 0 to `limit`. A check of a raw input dim compares that dim
// with itself here: what is tested is all that is left out because it was proved, and that nothing which
// holds is refused. Gives how many shapes pass.
int ExpectChecksDecide(const ParsedFacts& f, int64_t limit) {
  std::vector<Obligation> obligations = CollectObligations(f.graph);
  int passed = 0;
  ForEachAssignment(f, limit, [&](absl::Span<const int64_t> symbols) {
    if (!InputsExist(f.graph, symbols)) return;
    bool pass = ChecksPass(f, symbols);
    passed += pass;
    EXPECT_EQ(pass, DeclarationsHold(f.graph, symbols) && ObligationsHold(obligations, symbols))
        << f.graph.ToText() << f.facts.ToText() << "symbols " << absl::StrJoin(symbols, ", ");
  });
  return passed;
}

TEST(Prover, ChecksPassExactlyWhereAllObligationsHold) {
  for (const std::string& text : SampleGraphs()) EXPECT_GT(ExpectChecksDecide(ParsedFacts(text), 12), 0) << text;
}

TEST(Prover, ChecksOfRandomGraphsPassExactlyWhereAllObligationsHold) {
  std::mt19937 random(5);
  int collected = 0, passed = 0, refused = 0;
  for (int round = 0; round < 1500 && !testing::Test::HasFailure(); ++round) {
    Graph graph = RandomGraph(random);
    absl::StatusOr<ShapeFacts> facts = ShapeFacts::Collect(graph);
    if (facts.ok()) {
      ++collected;
      passed += ExpectChecksDecide(ParsedFacts{graph, *facts}, 9);
      continue;
    }
    // Then no shape may satisfy all.
    ++refused;
    std::vector<Obligation> obligations = CollectObligations(graph);
    for (int64_t s = 0; s < 1000; ++s) {
      std::vector<int64_t> symbols = {s % 10, s / 10 % 10, s / 100};
      EXPECT_FALSE(InputsExist(graph, symbols) && DeclarationsHold(graph, symbols) &&
                   ObligationsHold(obligations, symbols))
          << graph.ToText() << facts.status() << "\nsymbols " << absl::StrJoin(symbols, ", ");
    }
  }
  EXPECT_GT(collected, 300);
  EXPECT_GT(passed, 1000);
  EXPECT_GT(refused, 100);
}

TEST(Prover, ADemandMadeTwiceIsCheckedOnce) {
  ParsedFacts f(R"(
graph @g(%x: f32[S, T], %y: f32[U, V]) {
  %a = dot %x, %y
  %b = dot %x, %y
  %c = slice %y {starts = [S, 0], sizes = [1, V]}
  %d = slice %y {starts = [S, 0], sizes = [1, V]}
  return %a, %b, %c, %d
}
)");
  size_t node_checks = 0;
  for (const ShapeCheck& check : f.facts.checks()) node_checks += !check.node.empty();
  EXPECT_EQ(node_checks, 2u);
}

}  // namespace
}  // namespace tailor
