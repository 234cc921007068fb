// FactStore: simplifies expressions over class representatives by the known facts.
#include <algorithm>

#include "analysis/dim_terms.h"
#include "analysis/fact_store.h"
#include "analysis/interval.h"

namespace tailor {

using AtomKind = DimExpr::AtomKind;

DimExpr FactStore::Canonical(const DimExpr& e) const {
  constexpr int kMaxRounds = 8;
  if (!e.valid() || e.constant()) return e;
  return canonical_.Of(e, [&] {
    DimExpr current = e;
    for (int round = 0; round < kMaxRounds && current.valid() && !current.constant(); ++round) {
      DimExpr next = SimplifyOnce(current);
      if (!next.valid() || next == current) break;
      current = std::move(next);
    }
    return current;
  });
}

DimExpr FactStore::SimplifyOnce(const DimExpr& e) const {
  if (!e.valid() || e.constant()) return e;
  return simplified_.Of(e, [&] { return SimplifyTerms(e); });
}

DimExpr FactStore::SimplifyTerms(const DimExpr& e) const {
  DimExpr sum;
  for (const DimExpr::Term& term : e.terms()) {
    DimExpr product = term.coefficient;
    for (const DimExpr::Factor& f : term.factors) {
      DimExpr base = SimplifyAtom(*f.atom);
      for (int32_t i = 0; i < f.power; ++i) product = product * base;
    }
    sum = sum + product;
  }
  if (!sum.valid() || sum.constant()) return sum;
  sum = MultiplyOutExactDivisions(sum);
  Range range = CanonicalRange(sum);
  return interval::IsPoint(range) ? DimExpr(range.min) : sum;
}

DimExpr FactStore::SimplifyAtom(const DimExpr::Atom& atom) const {
  if (Range range = AtomRange(atom); interval::IsPoint(range)) return range.min;
  if (atom.kind == AtomKind::kSymbol) {
    const SymbolFacts& symbol = symbols_[atom.symbol];
    return symbol.replacement ? *symbol.replacement : DimExpr::Symbol(atom.symbol);
  }
  DimExpr a = SimplifyOnce(atom.lhs), b = SimplifyOnce(atom.rhs);
  DimExpr e = DimExpr::Make(atom.kind, a, b);
  // If the two dim sizes cannot broadcast under the known facts, the expression keeps its original operands.
  if (!e.valid()) return DimExpr::Make(atom.kind, atom.lhs, atom.rhs);
  switch (atom.kind) {
    case AtomKind::kFloorDiv:
    case AtomKind::kMod:
      return SimplifyDivision(atom.kind, a, b);
    case AtomKind::kBcast:
      return SimplifyBcast(e);
    default:
      return SimplifyMinMax(atom.kind, e);
  }
}

DimExpr FactStore::SimplifyBcast(const DimExpr& e) const {
  std::vector<DimExpr> kept;
  for (const DimExpr& leaf : LeavesOf(AtomKind::kBcast, e)) {
    Range range = CanonicalRange(leaf);
    if (!interval::Contains(range, 1)) return leaf;
    if (interval::IsPoint(range)) continue;  // the leaf is 1
    bool repeated = std::any_of(kept.begin(), kept.end(),
                                [&](const DimExpr& other) { return Reduced(leaf - other) == DimExpr(0); });
    if (!repeated) kept.push_back(leaf);
  }
  DimExpr result = 1;
  for (const DimExpr& leaf : kept) result = DimExpr::Bcast(result, leaf);
  return result;
}

DimExpr FactStore::SimplifyMinMax(AtomKind kind, const DimExpr& e) const {
  std::vector<DimExpr> leaves = LeavesOf(kind, e);
  for (size_t i = 0; i < leaves.size() && leaves.size() > 1;) {
    bool superfluous = std::any_of(leaves.begin(), leaves.end(), [&](const DimExpr& other) {
      if (other == leaves[i]) return false;
      Range difference = CanonicalRange(leaves[i] - other);
      return kind == AtomKind::kMin ? difference.min >= 0 : difference.max <= 0;
    });
    superfluous ? static_cast<void>(leaves.erase(leaves.begin() + i)) : static_cast<void>(++i);
  }
  DimExpr result = leaves[0];
  for (const DimExpr& leaf : leaves) result = DimExpr::Make(kind, result, leaf);
  return result;
}

// Splits a = exact + rest, where b divides `exact`. Succeeds if `rest` lies in [quotient * b, quotient * b + b).
DimExpr FactStore::SimplifyDivision(AtomKind kind, const DimExpr& a, const DimExpr& b) const {
  std::optional<int64_t> divisor = b.constant();
  if (!divisor) {
    bool below = CanonicalRange(a).min >= 0 && CanonicalRange(a - b).max < 0;
    if (below) return kind == AtomKind::kMod ? a : DimExpr(0);
    return DimExpr::Make(kind, a, b);
  }
  DimExpr exact, rest;
  for (const DimExpr::Term& term : a.terms()) {
    DimExpr& part = TermDivisor(term) % *divisor == 0 ? exact : rest;
    part = part + TermDim(term);
  }
  if (CanonicalDivisor(a) % *divisor == 0) exact = a, rest = 0;
  Range range = interval::FloorDivide(CanonicalRange(rest), interval::Point(*divisor));
  bool one_bucket = interval::IsPoint(range);
  if (kind == AtomKind::kMod) return one_bucket ? rest - DimExpr(range.min) * b : DimExpr::Mod(rest, b);
  if (!one_bucket) return DimExpr::FloorDiv(a, b);
  return DimExpr::FloorDiv(exact, b) + range.min;
}

// Replaces k * floordiv(a, k) by a if k divides a.
DimExpr FactStore::MultiplyOutExactDivisions(const DimExpr& e) const {
  DimExpr sum;
  bool changed = false;
  for (const DimExpr::Term& term : e.terms()) {
    std::vector<DimExpr::Factor> factors = term.factors;
    int64_t coefficient = term.coefficient;
    DimExpr multiplied = 1;
    for (DimExpr::Factor& f : factors) {
      if (f.atom->kind != AtomKind::kFloorDiv || !f.atom->rhs.constant()) continue;
      int64_t divisor = *f.atom->rhs.constant();
      if (coefficient % divisor != 0 || CanonicalDivisor(f.atom->lhs) % divisor != 0) continue;
      coefficient /= divisor;
      f.power -= 1;
      multiplied = multiplied * f.atom->lhs;
      changed = true;
    }
    sum = sum + ProductDim(coefficient, factors) * multiplied;
  }
  return changed ? sum : e;
}

}  // namespace tailor
