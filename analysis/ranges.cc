// FactStore: ranges and divisors of expressions.
#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "analysis/dim_terms.h"
#include "analysis/fact_store.h"
#include "analysis/interval.h"
#include "graph/dim_bounds.h"
#include "graph/visits.h"

namespace tailor {

using AtomKind = DimExpr::AtomKind;

namespace {

DimExpr Monomial(const DimExpr::Term& term) { return ProductDim(1, term.factors); }

// The common multiple of two divisors a and b of one number; one of them on overflow.
int64_t BothDivide(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  int64_t product;
  return __builtin_mul_overflow(a, b / std::gcd(a, b), &product) ? std::max(a, b) : product;
}

}  // namespace

const FactStore::ExpressionFacts* FactStore::FindExpression(const DimExpr& e) const {
  const auto kept = expression_of_.find(e);
  return kept == expression_of_.end() ? nullptr : &expressions_[kept->second];
}

Range FactStore::AtomRange(const DimExpr::Atom& atom) const {
  if (atom.kind == AtomKind::kSymbol) return symbols_[atom.symbol].range;
  Range a = CanonicalRange(atom.lhs), b = CanonicalRange(atom.rhs);
  switch (atom.kind) {
    case AtomKind::kFloorDiv:
      return interval::FloorDivide(a, b);
    case AtomKind::kMod:
      return interval::Modulo(a, b);
    case AtomKind::kMin:
      return {std::min(a.min, b.min), std::min(a.max, b.max)};
    case AtomKind::kMax:
      return {std::max(a.min, b.min), std::max(a.max, b.max)};
    default:
      // The result of a broadcast is the larger dim size, unless one is 0.
      return {a.min >= 1 && b.min >= 1 ? std::max(a.min, b.min) : std::min(a.min, b.min), std::max(a.max, b.max)};
  }
}

Range FactStore::MonomialRange(const DimExpr::Term& term) const {
  Range product = interval::Point(1);
  for (const DimExpr::Factor& f : term.factors) {
    Range range = AtomRange(*f.atom);
    for (int32_t i = 0; i < f.power; ++i) product = interval::Multiply(product, range);
  }
  if (expressions_.empty() || term.factors.empty()) return product;
  const ExpressionFacts* known = FindExpression(Monomial(term));
  return known != nullptr ? interval::Intersect(product, known->range) : product;
}

Range FactStore::CanonicalRange(const DimExpr& e) const {
  if (!e.valid()) return interval::kEverything;
  if (const std::optional<int64_t> value = e.constant()) return interval::Point(*value);
  return range_.Of(e, [&] { return RangeOfTerms(e); });
}

Range FactStore::RangeOfTerms(const DimExpr& e) const {
  Range sum = interval::Point(0);
  for (const DimExpr::Term& term : e.terms()) {
    sum = interval::Add(sum, interval::Multiply(interval::Point(term.coefficient), MonomialRange(term)));
  }
  return interval::Intersect(interval::Intersect(sum, RelaxedRange(e)), RangeFromSums(e));
}

// The range from the rational relaxation: 2*floordiv(h, 2) - h lies in [-1, 0] for every h.
Range FactStore::RelaxedRange(const DimExpr& e) const {
  if (e.terms().size() < 2) return interval::kEverything;
  const std::optional<RelaxedDim> relaxed = Relaxed(e);
  if (!relaxed) return interval::kEverything;
  const Range sum = interval::Add(CanonicalRange(relaxed->numerator), {relaxed->low, relaxed->high});
  return {interval::CeilDivideBound(sum.min, relaxed->denominator),
          interval::FloorDivideBound(sum.max, relaxed->denominator)};
}

// The range from facts about sums that differ by a constant or in sign: a - b <= 0 bounds b - a + 1.
Range FactStore::RangeFromSums(const DimExpr& sum) const {
  Range range = interval::kEverything;
  if (expressions_.empty()) return range;
  const auto like = expressions_like_.find(Direction(sum));
  if (like == expressions_like_.end()) return range;
  for (const size_t place : like->second) {
    CountVisits();
    const ExpressionFacts& known = expressions_[place];
    for (const int64_t sign : {1, -1}) {
      const std::optional<int64_t> rest = (sum - sign * known.e).constant();
      if (!rest) continue;
      const Range signed_range = interval::Multiply(known.range, interval::Point(sign));
      range = interval::Intersect(range, interval::Add(signed_range, interval::Point(*rest)));
    }
  }
  return range;
}

int64_t FactStore::AtomDivisor(const DimExpr::Atom& atom) const {
  if (atom.kind == AtomKind::kSymbol) return symbols_[atom.symbol].divisor;
  int64_t a = CanonicalDivisor(atom.lhs);
  if (atom.kind == AtomKind::kFloorDiv) {
    std::optional<int64_t> divisor = atom.rhs.constant();
    return divisor && a % *divisor == 0 ? a / *divisor : 1;
  }
  return std::gcd(a, CanonicalDivisor(atom.rhs));  // mod(a, b) = a - b * q; the other kinds equal a or b
}

int64_t FactStore::TermDivisor(const DimExpr::Term& term) const {
  int64_t divisor = term.coefficient == INT64_MIN ? 1 : std::abs(term.coefficient);
  for (const DimExpr::Factor& f : term.factors) {
    int64_t atom = AtomDivisor(*f.atom), product;
    for (int32_t i = 0; i < f.power; ++i) {
      if (!__builtin_mul_overflow(divisor, atom, &product)) divisor = product;
    }
  }
  if (expressions_.empty() || term.factors.empty()) return divisor;
  const ExpressionFacts* known = FindExpression(Monomial(term));
  int64_t scaled;
  if (known == nullptr || __builtin_mul_overflow(known->divisor, term.coefficient, &scaled)) return divisor;
  return scaled == INT64_MIN ? divisor : BothDivide(divisor, std::abs(scaled));
}

int64_t FactStore::CanonicalDivisor(const DimExpr& e) const {
  if (!e.valid()) return 1;
  if (const std::optional<int64_t> value = e.constant()) return *value == INT64_MIN ? 1 : std::abs(*value);
  return divisor_.Of(e, [&] { return DivisorOfTerms(e); });
}

int64_t FactStore::DivisorOfTerms(const DimExpr& e) const {
  int64_t divisor = 0;
  for (const DimExpr::Term& term : e.terms()) divisor = std::gcd(divisor, TermDivisor(term));
  if (expressions_.empty()) return divisor;
  const ExpressionFacts* known = FindExpression(e);
  return known != nullptr ? BothDivide(divisor, known->divisor) : divisor;
}

// The canonical form may have a weaker bound than the original: max(0, f - 1)*max(0, g - 1) is at least 0; if f, g >=
// 1, its canonical form is f*g - f - g + 1.
Range FactStore::RangeOf(const DimExpr& e) const {
  const DimExpr canonical = Canonical(e);
  const Range range = CanonicalRange(canonical);
  return canonical == e ? range : interval::Intersect(range, CanonicalRange(e));
}

int64_t FactStore::DivisorOf(const DimExpr& e) const { return CanonicalDivisor(Canonical(e)); }

bool FactStore::MayBe(const DimExpr& e, int64_t value) const {
  DimExpr difference = Canonical(e) - value;
  if (!interval::Contains(CanonicalRange(difference), 0)) return false;
  int64_t constant = ConstantTerm(difference);
  int64_t divisor = CanonicalDivisor(difference - constant);
  return divisor == 0 ? constant == 0 : constant % divisor == 0;
}

}  // namespace tailor
