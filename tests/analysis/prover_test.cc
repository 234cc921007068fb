#include "analysis/prover.h"

#include <gtest/gtest.h>

#include "tests/analysis/sampled_dims.h"

namespace tailor {
namespace {

// Signature: every input dim is what it says, every symbol in its declared range.
bool DeclarationsHold(const ParsedFacts& f, absl::Span<const int64_t> symbols) {
  for (size_t id = 0; id < symbols.size(); ++id) {
    const SymbolInfo& info = f.graph.symbols()[id];
    if (symbols[id] < info.min || symbols[id] > info.max || symbols[id] % info.multiple_of != 0) return false;
  }
  for (NodeId input : f.graph.inputs()) {
    for (const DimExpr& dim : f.graph.type({input, 0}).shape) {
      if (ValueOf(dim, symbols).value_or(-1) < 0) return false;
    }
  }
  return true;
}

// A check that is the raw extent of an input dim compares that dim with itself here, so this tests what is
// left out because it was proved, and that nothing that holds is refused.
TEST(Prover, ChecksPassExactlyWhereAllObligationsHold) {
  for (const std::string& text : SampleGraphs()) {
    ParsedFacts f(text);
    std::vector<Obligation> obligations = CollectObligations(f.graph);
    int passed = 0;
    ForEachAssignment(f, 12, [&](absl::Span<const int64_t> symbols) {
      for (NodeId input : f.graph.inputs()) {  // what no tensor can have
        for (const DimExpr& dim : f.graph.type({input, 0}).shape) {
          if (ValueOf(dim, symbols).value_or(-1) < 0) return;
        }
      }
      bool holds = DeclarationsHold(f, symbols);
      for (const Obligation& o : obligations) {
        holds = holds && Holds(o.relation, ValueOf(o.lhs, symbols), ValueOf(o.rhs, symbols));
      }
      bool pass = ChecksPass(f, symbols);
      passed += pass;
      EXPECT_EQ(pass, holds) << text << "\nS=" << symbols[0] << " T=" << (symbols.size() > 1 ? symbols[1] : -1)
                             << " U=" << (symbols.size() > 2 ? symbols[2] : -1) << "\n" << f.facts.ToText();
    });
    EXPECT_GT(passed, 0) << text;
  }
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
