#include "graph/dim_bounds.h"

#include <algorithm>

#include "graph/dim_algebra.h"

namespace tailor {
namespace {

std::optional<int64_t> LeastAtom(const DimExpr::Atom& atom) {
  using Kind = DimExpr::AtomKind;
  if (atom.kind == Kind::kSymbol || atom.kind == Kind::kMod) return 0;
  std::optional<int64_t> a = LeastValue(atom.lhs), b = LeastValue(atom.rhs);
  switch (atom.kind) {
    case Kind::kFloorDiv:
      if (!a) return std::nullopt;
      if (atom.rhs.constant()) return FloorDivInt(*a, *atom.rhs.constant());
      return *a >= 0 ? std::optional<int64_t>(0) : std::nullopt;
    case Kind::kMax:
      if (!a || !b) return a ? a : b;
      return std::max(*a, *b);
    default:
      if (!a || !b) return std::nullopt;
      return std::min(*a, *b);
  }
}

std::optional<int64_t> LeastTerm(const DimExpr::Term& term) {
  if (term.coefficient < 0 && !term.factors.empty()) return std::nullopt;
  int64_t least = term.coefficient;
  for (const DimExpr::Factor& factor : term.factors) {
    std::optional<int64_t> atom = LeastAtom(*factor.atom);
    if (!atom || (*atom < 0 && (term.factors.size() > 1 || factor.power > 1))) return std::nullopt;
    for (int32_t i = 0; i < factor.power; ++i) {
      if (__builtin_mul_overflow(least, *atom, &least)) return std::nullopt;
    }
  }
  return least;
}

}  // namespace

std::optional<int64_t> LeastValue(const DimExpr& e) {
  if (!e.valid()) return std::nullopt;
  int64_t sum = 0;
  for (const DimExpr::Term& term : e.terms()) {
    std::optional<int64_t> least = LeastTerm(term);
    if (!least || __builtin_add_overflow(sum, *least, &sum)) return std::nullopt;
  }
  return sum;
}

}  // namespace tailor
