#include "graph/dim_bounds.h"

#include <algorithm>
#include <numeric>

#include "graph/dim_algebra.h"

namespace tailor {
namespace {

std::optional<int64_t> LeastAtom(const DimExpr::Atom& atom) {
  using Kind = DimExpr::AtomKind;
  if (atom.kind == Kind::kSymbol || atom.kind == Kind::kMod) return 0;
  std::optional<int64_t> a = LowerBound(atom.lhs), b = LowerBound(atom.rhs);
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

// Eliminates the floor division or remainder `term` from the numerator of `relaxed`. False on overflow of 64 bits.
bool Replace(const DimExpr::Term& term, RelaxedDim* relaxed) {
  const DimExpr::Atom& atom = *term.factors[0].atom;
  const int64_t divisor = *atom.rhs.constant();
  const DimExpr others = relaxed->numerator - DimExpr::OfTerm(term);
  const bool divides = atom.kind == DimExpr::AtomKind::kFloorDiv;
  // scale * term = share * (lhs - r) for a floor division; term = share * r for a remainder.
  const int64_t scale = divides ? divisor / std::gcd(divisor, term.coefficient) : 1;
  const int64_t share = divides ? term.coefficient / (divisor / scale) : term.coefficient;
  int64_t most, low, high;  // a remainder adds between 0 and `most`
  if (share == INT64_MIN || __builtin_mul_overflow(divides ? -share : share, divisor - 1, &most)) return false;
  if (__builtin_mul_overflow(relaxed->low, scale, &low) || __builtin_mul_overflow(relaxed->high, scale, &high) ||
      __builtin_add_overflow(low, std::min<int64_t>(most, 0), &relaxed->low) ||
      __builtin_add_overflow(high, std::max<int64_t>(most, 0), &relaxed->high) ||
      __builtin_mul_overflow(relaxed->denominator, scale, &relaxed->denominator)) {
    return false;
  }
  relaxed->numerator = others * scale;
  if (divides) relaxed->numerator = relaxed->numerator + atom.lhs * share;
  return relaxed->numerator.valid();
}

bool IsDivision(const DimExpr::Term& term) {
  const DimExpr::Atom* atom = SingleFactor(term);
  return atom != nullptr && term.coefficient != INT64_MIN && atom->rhs.constant() &&
         (atom->kind == DimExpr::AtomKind::kFloorDiv || atom->kind == DimExpr::AtomKind::kMod);
}

}  // namespace

std::optional<int64_t> LowerBound(const DimExpr& e) {
  if (!e.valid()) return std::nullopt;
  int64_t sum = 0;
  for (const DimExpr::Term& term : e.terms()) {
    std::optional<int64_t> least = LeastTerm(term);
    if (!least || __builtin_add_overflow(sum, *least, &sum)) return std::nullopt;
  }
  return sum;
}

std::optional<RelaxedDim> Relaxed(const DimExpr& e) {
  constexpr int kMostReplaced = 16;
  if (!e.valid()) return std::nullopt;
  RelaxedDim relaxed{e};
  for (int replaced = 0;; ++replaced) {
    const auto terms = relaxed.numerator.terms();
    const auto term = std::find_if(terms.begin(), terms.end(), IsDivision);
    if (term == terms.end()) return replaced > 0 ? std::optional(relaxed) : std::nullopt;
    if (replaced == kMostReplaced || !Replace(DimExpr::Term(*term), &relaxed)) return std::nullopt;
  }
}

std::optional<DimBounds> BoundsOfDifference(const DimExpr& a, const DimExpr& b) {
  const DimExpr difference = a - b;
  if (std::optional<int64_t> c = difference.constant()) return DimBounds{*c, *c};
  const std::optional<RelaxedDim> relaxed = Relaxed(difference);
  const std::optional<int64_t> c = relaxed ? relaxed->numerator.constant() : std::nullopt;
  int64_t low, high;
  if (!c || __builtin_add_overflow(*c, relaxed->low, &low) || __builtin_add_overflow(*c, relaxed->high, &high) ||
      low == INT64_MIN) {
    return std::nullopt;
  }
  return DimBounds{-FloorDivInt(-low, relaxed->denominator), FloorDivInt(high, relaxed->denominator)};
}

bool IsAtLeastOne(const DimExpr& b, const DimExpr& a) {
  const auto terms = b.terms();
  const bool plus_one = terms.size() == 2 && terms[1].factors.empty() && terms[1].coefficient == 1;
  if (terms.size() != 1 && !plus_one) return false;
  const DimExpr::Atom* atom = SingleFactor(terms[0]);
  if (atom == nullptr || atom->kind != DimExpr::AtomKind::kMax || terms[0].coefficient != 1) return false;
  const DimExpr least = plus_one ? 0 : 1;
  // Leaves of a max nest to the left, sorted: `a` is an operand of the atom only if it is a single leaf.
  if (atom->lhs == least) return (plus_one ? atom->rhs + 1 : atom->rhs) == a;
  if (atom->rhs == least) return (plus_one ? atom->lhs + 1 : atom->lhs) == a;
  return b == (plus_one ? DimExpr::Max(a - 1, 0) + 1 : DimExpr::Max(a, 1));
}

}  // namespace tailor
