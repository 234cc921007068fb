#include "analysis/dim_terms.h"

#include <algorithm>

namespace tailor {

std::optional<LinearDim> AsLinear(const DimExpr& e) {
  if (!e.valid() || e.terms().empty() || e.terms().size() > 2) return std::nullopt;
  const DimExpr::Atom* atom = SingleFactor(e.terms()[0]);
  if (atom == nullptr || atom->kind != DimExpr::AtomKind::kSymbol) return std::nullopt;
  if (e.terms().size() == 2 && !e.terms()[1].factors.empty()) return std::nullopt;
  return LinearDim{atom->symbol, e.terms()[0].coefficient, ConstantTerm(e)};
}

DimExpr AtomDim(const DimExpr::Atom& atom) {
  if (atom.kind == DimExpr::AtomKind::kSymbol) return DimExpr::Symbol(atom.symbol);
  return DimExpr::Make(atom.kind, atom.lhs, atom.rhs);
}

DimExpr ProductDim(int64_t coefficient, absl::Span<const DimExpr::Factor> factors) {
  return DimExpr::OfTerm({coefficient, {factors.begin(), factors.end()}});
}

DimExpr TermDim(const DimExpr::Term& term) { return DimExpr::OfTerm(term); }

int64_t ConstantTerm(const DimExpr& e) {
  if (e.terms().empty() || !e.terms().back().factors.empty()) return 0;
  return e.terms().back().coefficient;
}

DimExpr Direction(const DimExpr& e) {
  const DimExpr varying = e - ConstantTerm(e);
  return !varying.terms().empty() && varying.terms()[0].coefficient < 0 ? DimExpr(-1) * varying : varying;
}

std::optional<DimExpr> DivideTerm(const DimExpr::Term& a, const DimExpr::Term& b) {
  if (a.coefficient == INT64_MIN || a.coefficient % b.coefficient != 0) return std::nullopt;
  std::vector<DimExpr::Factor> factors = a.factors;
  for (const DimExpr::Factor& divisor : b.factors) {
    auto it =
        std::find_if(factors.begin(), factors.end(), [&](const DimExpr::Factor& f) { return f.atom == divisor.atom; });
    if (it == factors.end() || it->power < divisor.power) return std::nullopt;
    it->power -= divisor.power;
  }
  return ProductDim(a.coefficient / b.coefficient, factors);
}

DimExpr DivideCoefficients(const DimExpr& e, int64_t divisor) {
  DimExpr quotient;
  for (const DimExpr::Term& term : e.terms()) {
    quotient = quotient + ProductDim(term.coefficient / divisor, term.factors);
  }
  return quotient;
}

std::vector<DimExpr> LeavesOf(DimExpr::AtomKind kind, const DimExpr& e) {
  if (e.terms().size() == 1 && e.terms()[0].coefficient == 1) {
    const DimExpr::Atom* atom = SingleFactor(e.terms()[0]);
    if (atom != nullptr && atom->kind == kind) {
      std::vector<DimExpr> leaves = LeavesOf(kind, atom->lhs), more = LeavesOf(kind, atom->rhs);
      leaves.insert(leaves.end(), more.begin(), more.end());
      return leaves;
    }
  }
  return {e};
}

bool Mentions(const DimExpr& e, SymbolId symbol) {
  std::vector<SymbolId> symbols = e.Symbols();
  return std::binary_search(symbols.begin(), symbols.end(), symbol);
}

}  // namespace tailor
