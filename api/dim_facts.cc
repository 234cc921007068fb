#include "api/dim_facts.h"

#include <algorithm>

namespace tailor {

// Facts that every run checks before anything else: declared ranges, dims of inputs, and assumptions.
DimFacts::DimFacts(const Graph& graph) : at_(graph.mark()), store_(graph.symbols(), {}) {
  // A contradiction is an error of the compilation; here it adds no fact.
  for (int node : graph.inputs()) {
    for (const DimExpr& dim : graph.type({node, 0}).shape) {
      if (!dim.constant()) store_.Restrict(dim, {0, INT64_MAX});
    }
  }
  for (const Assumption& assumption : graph.assumptions()) {
    if (assumption.relation == Assumption::Relation::kEqual) {
      store_.AssertEqual(assumption.lhs, assumption.rhs);
    } else {
      store_.Restrict(assumption.lhs - assumption.rhs, {0, INT64_MAX});
    }
  }
}

bool DimFacts::Describes(const Graph& graph) const {
  const Graph::Mark now = graph.mark();
  return now.symbols == at_.symbols && now.inputs == at_.inputs && now.assumptions == at_.assumptions;
}

Range DimFacts::RangeOf(const DimExpr& dim) const {
  int budget = kMostSplits;
  return RangeOf(dim, budget);
}

// Beyond what the fact store knows: rest + min(a, b) is the lesser of rest + a and rest + b, and max alike.
Range DimFacts::RangeOf(const DimExpr& dim, int& budget) const {
  if (auto constant = dim.constant()) return {*constant, *constant};
  Range range = store_.RangeOf(dim);
  if (dim.terms().size() < 2 || dim.terms().size() > kMostTerms) return range;
  for (const DimExpr::Term& term : dim.terms()) {
    const DimExpr::Atom* atom = SingleFactor(term);
    if (atom == nullptr || (atom->kind != DimExpr::AtomKind::kMin && atom->kind != DimExpr::AtomKind::kMax)) continue;
    if (--budget < 0) return range;
    const DimExpr rest = dim - DimExpr::OfTerm(term);
    const DimExpr sums[] = {rest + DimExpr(term.coefficient) * atom->lhs, rest + DimExpr(term.coefficient) * atom->rhs};
    if (!sums[0].valid() || !sums[1].valid()) continue;
    const Range a = RangeOf(sums[0], budget), b = RangeOf(sums[1], budget);
    const bool is_larger = (atom->kind == DimExpr::AtomKind::kMax) == (term.coefficient > 0);
    range.min = std::max(range.min, is_larger ? std::max(a.min, b.min) : std::min(a.min, b.min));
    range.max = std::min(range.max, is_larger ? std::max(a.max, b.max) : std::min(a.max, b.max));
  }
  return range;
}

}  // namespace tailor
