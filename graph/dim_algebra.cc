#include "graph/dim_algebra.h"

#include <algorithm>
#include <numeric>

#include "graph/dim_bounds.h"
#include "graph/intern_table.h"
#include "graph/visits.h"

namespace tailor {
namespace {

using Atom = DimExpr::Atom;
using AtomKind = DimExpr::AtomKind;
using Factor = DimExpr::Factor;
using Term = DimExpr::Term;

size_t Mix(size_t hash, size_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 29);
}

int Sign(bool less) { return less ? -1 : 1; }

int CompareAtoms(const Atom& a, const Atom& b) {
  if (&a == &b) return 0;
  if (a.kind != b.kind) return Sign(a.kind < b.kind);
  if (a.kind == AtomKind::kSymbol) return a.symbol == b.symbol ? 0 : Sign(a.symbol < b.symbol);
  if (int c = DimExpr::Compare(a.lhs, b.lhs); c != 0) return c;
  return DimExpr::Compare(a.rhs, b.rhs);
}

int64_t Degree(const Term& term) {
  int64_t degree = 0;
  for (const Factor& f : term.factors) degree += f.power;
  return degree;
}

// a / b for single terms, if exact; b is not the constant 0.
std::optional<Term> DivideTerms(const Term& a, const Term& b) {
  if (b.coefficient == -1 || a.coefficient % b.coefficient != 0) return std::nullopt;
  Term quotient{a.coefficient / b.coefficient, a.factors};
  for (const Factor& divisor : b.factors) {
    auto it = std::find_if(quotient.factors.begin(), quotient.factors.end(),
                           [&](const Factor& f) { return f.atom == divisor.atom; });
    if (it == quotient.factors.end() || it->power < divisor.power) return std::nullopt;
    it->power -= divisor.power;
    if (it->power == 0) quotient.factors.erase(it);
  }
  return quotient;
}

}  // namespace

int CompareMonomials(const Term& a, const Term& b) {
  if (Degree(a) != Degree(b)) return Sign(Degree(a) > Degree(b));
  size_t common = std::min(a.factors.size(), b.factors.size());
  for (size_t i = 0; i < common; ++i) {
    if (int c = CompareAtoms(*a.factors[i].atom, *b.factors[i].atom); c != 0) return c;
    if (a.factors[i].power != b.factors[i].power) return Sign(a.factors[i].power > b.factors[i].power);
  }
  return 0;  // equal degrees and one list a prefix of the other: the lists are equal
}

std::vector<Factor> MultiplyFactors(const std::vector<Factor>& a, const std::vector<Factor>& b) {
  std::vector<Factor> product;
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    int c = CompareAtoms(*a[i].atom, *b[j].atom);
    if (c == 0) {
      product.push_back({a[i].atom, a[i].power + b[j].power});
      ++i, ++j;
    } else {
      product.push_back(c < 0 ? a[i++] : b[j++]);
    }
  }
  product.insert(product.end(), a.begin() + i, a.end());
  product.insert(product.end(), b.begin() + j, b.end());
  return product;
}

DimExpr DimExpr::Algebra::Invalid(Problem problem) {
  static_assert(kMaxSize == 1024, "the message below names it");
  static const auto* invalid = [] {
    auto* polys = new std::vector<std::shared_ptr<const Poly>>;  // indexed by Problem
    for (const char* text :
         {"a coefficient leaves 64 bits", "a constant divisor is below 1", "two of its constants do not broadcast",
          "the expression has more than 1024 terms, factors and operations"}) {
      auto poly = std::make_shared<Poly>();
      poly->valid = false;
      poly->problem = text;
      polys->push_back(std::move(poly));
    }
    return polys;
  }();
  return DimExpr((*invalid)[static_cast<size_t>(problem)]);
}

bool DimExpr::Poly::Same(const Poly& other) const {
  return std::equal(
      terms.begin(), terms.end(), other.terms.begin(), other.terms.end(), [](const Term& a, const Term& b) {
        return a.coefficient == b.coefficient &&
               std::equal(a.factors.begin(), a.factors.end(), b.factors.begin(), b.factors.end(),
                          [](const Factor& x, const Factor& y) { return x.atom == y.atom && x.power == y.power; });
      });
}

std::shared_ptr<const DimExpr::Poly> DimExpr::Algebra::MakePoly(std::vector<Term> terms) {
  static auto* table = new InternTable<Poly>;
  CountVisits(1 + terms.size());
  Poly poly;
  poly.hash = 1;
  for (const Term& term : terms) {
    poly.hash = Mix(poly.hash, static_cast<size_t>(term.coefficient));
    poly.size += 1;
    for (const Factor& f : term.factors) {
      poly.hash = Mix(poly.hash, f.atom->hash + static_cast<size_t>(f.power));
      poly.size += f.power + f.atom->lhs.poly_->size + f.atom->rhs.poly_->size;
    }
  }
  poly.terms = std::move(terms);
  return table->Intern(std::move(poly));
}

std::shared_ptr<const Atom> DimExpr::Algebra::MakeAtom(AtomKind kind, SymbolId symbol, const DimExpr& lhs,
                                                       const DimExpr& rhs) {
  static auto* table = new InternTable<Atom>;
  Atom atom{kind, symbol, lhs, rhs};
  atom.hash = Mix(static_cast<size_t>(kind), static_cast<size_t>(symbol));
  atom.hash = Mix(atom.hash, Mix(lhs.poly_->hash, rhs.poly_->hash));
  return table->Intern(std::move(atom));
}

DimExpr DimExpr::Algebra::FromCanonical(std::vector<Term> terms) {
  std::shared_ptr<const Poly> poly = MakePoly(std::move(terms));
  return poly->size <= kMaxSize ? DimExpr(std::move(poly)) : Invalid(Problem::kSize);
}

DimExpr DimExpr::Algebra::FromTerms(std::vector<Term> terms) { return EliminateMods(Combined(std::move(terms))); }

DimExpr DimExpr::Algebra::Combined(std::vector<Term> terms) {
  std::sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) { return CompareMonomials(a, b) < 0; });
  std::vector<Term> combined;
  for (Term& term : terms) {
    if (combined.empty() || CompareMonomials(combined.back(), term) != 0) {
      combined.push_back(std::move(term));
    } else if (__builtin_add_overflow(combined.back().coefficient, term.coefficient, &combined.back().coefficient)) {
      return Invalid(Problem::kOverflow);
    }
  }
  combined.erase(std::remove_if(combined.begin(), combined.end(), [](const Term& t) { return t.coefficient == 0; }),
                 combined.end());
  return FromCanonical(std::move(combined));
}

DimExpr DimExpr::Algebra::WithoutRemainder(const DimExpr& sum, const Term& term, int64_t sign) {
  const Atom& atom = *term.factors[0].atom;
  const int64_t divisor = *atom.rhs.constant();
  const DimExpr of = Scaled(atom.lhs, sign), remainder = Scaled(of, term.coefficient);
  DimExpr multiple = Scaled(FloorDivByConstant(of, divisor), -divisor);
  if (multiple.valid()) multiple = Scaled(multiple, term.coefficient);
  if (!remainder.valid() || !multiple.valid()) return sum;
  std::vector<Term> terms(remainder.terms().begin(), remainder.terms().end());
  terms.insert(terms.end(), multiple.terms().begin(), multiple.terms().end());
  for (const Term& other : sum.terms()) {
    if (&other != &term) terms.push_back(other);
  }
  return Combined(std::move(terms));
}

DimExpr DimExpr::Algebra::EliminateMods(const DimExpr& sum) {
  if (!sum.valid() || sum.terms().size() < 2) return sum;
  DimExpr best = sum;
  for (const Term& term : sum.terms()) {
    const Atom* atom = SingleFactor(term);
    if (atom == nullptr || term.coefficient == INT64_MIN) continue;
    if (atom->kind != AtomKind::kMod || !atom->rhs.constant()) continue;
    for (const int64_t sign : {1, -1}) {
      if (sign < 0 && atom->rhs != DimExpr(2)) continue;  // mod(x, 2) is mod(-x, 2) as well
      const DimExpr divided = WithoutRemainder(sum, term, sign);
      if (divided.valid() && divided.poly_->size < best.poly_->size) best = divided;
    }
  }
  return best == sum ? sum : EliminateMods(best);
}

DimExpr DimExpr::Algebra::Scaled(const DimExpr& e, int64_t factor) {
  std::vector<Term> terms(e.terms().begin(), e.terms().end());
  for (Term& term : terms) {
    if (__builtin_mul_overflow(term.coefficient, factor, &term.coefficient)) return Invalid(Problem::kOverflow);
  }
  return FromCanonical(std::move(terms));
}

DimExpr DimExpr::Algebra::Opaque(AtomKind kind, const DimExpr& lhs, const DimExpr& rhs) {
  return FromCanonical({Term{1, {Factor{MakeAtom(kind, -1, lhs, rhs), 1}}}});
}

const Atom* DimExpr::Algebra::SingleAtom(const DimExpr& e, AtomKind kind) {
  if (e.terms().size() != 1 || e.terms()[0].coefficient != 1) return nullptr;
  const std::vector<Factor>& factors = e.terms()[0].factors;
  if (factors.size() != 1 || factors[0].power != 1 || factors[0].atom->kind != kind) return nullptr;
  return factors[0].atom.get();
}

int64_t DimExpr::Algebra::ConstantTerm(const DimExpr& e) {
  if (e.terms().empty() || !e.terms().back().factors.empty()) return 0;
  return e.terms().back().coefficient;
}

DimExpr::Algebra::Division DimExpr::Algebra::DivideByConstant(const DimExpr& a, int64_t divisor) {
  std::vector<Term> quotient, rest;
  int64_t constant = 0, gcd = divisor;
  for (const Term& term : a.terms()) {
    int64_t q = term.coefficient / divisor, r = term.coefficient % divisor;
    if (term.factors.empty()) {
      q = FloorDivInt(term.coefficient, divisor);
      constant = FloorModInt(term.coefficient, divisor);
    } else if (r != 0) {
      gcd = std::gcd(gcd, r);
      rest.push_back({r, term.factors});
    }
    if (q != 0) quotient.push_back({q, term.factors});
  }
  for (Term& term : rest) term.coefficient /= gcd;
  if (constant / gcd != 0) rest.push_back({constant / gcd, {}});
  return {FromCanonical(std::move(quotient)), FromCanonical(std::move(rest)), gcd, divisor / gcd, constant % gcd};
}

DimExpr DimExpr::Algebra::FloorDivByConstant(const DimExpr& a, int64_t divisor, bool folds) {
  if (!a.valid()) return a;
  Division d = DivideByConstant(a, divisor);
  if (d.rest.constant()) return d.quotient;
  if (d.rest.terms()[0].coefficient < 0) {  // floordiv(-x, k) = -floordiv(x + k - 1, k)
    return d.quotient - FloorDivByConstant(Scaled(d.rest, -1) + (d.reduced - 1), d.reduced, folds);
  }
  int64_t offset = ConstantTerm(d.rest);
  DimExpr base = d.rest - offset;
  if (const Atom* inner = SingleAtom(base, AtomKind::kFloorDiv); inner && inner->rhs.constant()) {
    int64_t product;  // (x floordiv e + c) floordiv r = (x + c*e) floordiv (e*r)
    DimExpr shifted = inner->lhs + inner->rhs * offset;
    if (shifted.valid() && !__builtin_mul_overflow(*inner->rhs.constant(), d.reduced, &product)) {
      return d.quotient + FloorDivByConstant(shifted, product, folds);
    }
  }
  if (const Atom* inner = SingleAtom(base, AtomKind::kMod); inner && inner->rhs.constant()) {
    if (*inner->rhs.constant() <= d.reduced - offset) return d.quotient;
  }
  if (folds) {
    for (const Term& term : d.rest.terms()) {
      const std::optional<DimExpr> fewer = DropDominatedLeaves(d.rest, term, d.reduced);
      if (fewer) return d.quotient + FloorDivByConstant(*fewer, d.reduced);
    }
  }
  return d.quotient + Opaque(AtomKind::kFloorDiv, d.rest, d.reduced);
}

// Compares the quotients of single leaves, which are not folded recursively: linear in the leaves of all terms.
std::optional<DimExpr> DimExpr::Algebra::DropDominatedLeaves(const DimExpr& a, const Term& term, int64_t divisor) {
  const Atom* atom = SingleFactor(term);
  if (atom == nullptr || term.coefficient < 0) return std::nullopt;
  if (atom->kind != AtomKind::kMin && atom->kind != AtomKind::kMax) return std::nullopt;
  std::vector<DimExpr> leaves, quotients;
  AppendLeaves(atom->kind, atom->lhs, &leaves);
  AppendLeaves(atom->kind, atom->rhs, &leaves);
  const DimExpr rest = a - OfTerm(term);
  for (const DimExpr& leaf : leaves) {
    quotients.push_back(FloorDivByConstant(leaf * term.coefficient + rest, divisor, /*folds=*/false));
    if (!quotients.back().valid()) return std::nullopt;
  }
  std::vector<DimExpr> left;
  AppendLeaves(atom->kind, FoldedMinMax(atom->kind, quotients), &left);
  if (left.size() == leaves.size()) return std::nullopt;
  std::vector<DimExpr> kept;
  for (const DimExpr& quotient : left) {
    const auto found = std::find(quotients.begin(), quotients.end(), quotient);
    if (found == quotients.end()) return std::nullopt;
    kept.push_back(leaves[found - quotients.begin()]);
  }
  return FoldedMinMax(atom->kind, std::move(kept)) * term.coefficient + rest;
}

// mod(c*mod(x, m) + y, k) = mod(c*x + y, k) where k divides c*m.
DimExpr DimExpr::Algebra::WithoutInnerRemainders(const DimExpr& a, int64_t divisor) {
  DimExpr sum = a;
  for (const Term& term : a.terms()) {
    const Atom* inner = SingleFactor(term);
    if (inner == nullptr || inner->kind != AtomKind::kMod || !inner->rhs.constant()) continue;
    int64_t product;
    if (__builtin_mul_overflow(term.coefficient, *inner->rhs.constant(), &product) || product % divisor != 0) continue;
    sum = sum - OfTerm(term) + inner->lhs * term.coefficient;
  }
  return sum;
}

DimExpr DimExpr::Algebra::ModByConstant(const DimExpr& a, int64_t divisor) {
  if (!a.valid()) return a;
  if (const DimExpr sum = WithoutInnerRemainders(a, divisor); sum.valid() && sum != a)
    return ModByConstant(sum, divisor);
  Division d = DivideByConstant(a, divisor);
  if (d.rest.constant()) return d.rest * d.gcd + d.low;
  int64_t offset = ConstantTerm(d.rest);
  const Atom* inner = SingleAtom(d.rest - offset, AtomKind::kMod);
  if (inner != nullptr && inner->rhs.constant()) {
    if (*inner->rhs.constant() <= d.reduced - offset) return d.rest * d.gcd + d.low;
  }
  return Opaque(AtomKind::kMod, d.rest, d.reduced) * d.gcd + d.low;
}

std::pair<DimExpr, DimExpr> DimExpr::Algebra::DivideBySymbolic(const DimExpr& a, const DimExpr& b) {
  if (b.terms().size() == 1) {
    std::vector<Term> quotient, rest;
    for (const Term& term : a.terms()) {
      std::optional<Term> q = DivideTerms(term, b.terms()[0]);
      q ? quotient.push_back(*std::move(q)) : rest.push_back(term);
    }
    return {FromTerms(std::move(quotient)), FromTerms(std::move(rest))};
  }
  DimExpr quotient, rest = a;
  for (size_t step = 0; step < a.terms().size() && rest.valid() && !rest.constant(); ++step) {
    std::optional<Term> q = DivideTerms(rest.terms()[0], b.terms()[0]);
    if (!q) break;
    DimExpr part = FromCanonical({*std::move(q)});
    quotient = quotient + part;
    rest = rest - part * b;
  }
  if (quotient.valid() && rest == DimExpr(0)) return {quotient, rest};
  return {0, a};
}

void DimExpr::Algebra::AppendLeaves(AtomKind kind, const DimExpr& e, std::vector<DimExpr>* leaves) {
  if (const Atom* atom = SingleAtom(e, kind)) {
    AppendLeaves(kind, atom->lhs, leaves);
    AppendLeaves(kind, atom->rhs, leaves);
  } else {
    leaves->push_back(e);
  }
}

DimExpr DimExpr::Algebra::FoldedBcast(std::vector<DimExpr> leaves) {
  std::optional<DimExpr> constant;
  std::vector<DimExpr> symbolic;
  for (DimExpr& leaf : leaves) {
    if (!leaf.constant()) {
      symbolic.push_back(std::move(leaf));
    } else if (leaf.constant() != 1) {
      if (constant) return Invalid(Problem::kBroadcast);
      constant = leaf;
    }
  }
  if (constant) return *constant;
  std::vector<DimExpr> kept;
  for (const DimExpr& leaf : symbolic) {
    const auto stands_for = [&](const DimExpr& other) { return other != leaf && IsAtLeastOne(leaf, other); };
    if (std::none_of(symbolic.begin(), symbolic.end(), stands_for)) kept.push_back(leaf);
  }
  symbolic = std::move(kept);
  return symbolic.empty() ? DimExpr(1) : NestLeft(AtomKind::kBcast, symbolic);
}

DimExpr DimExpr::Algebra::FoldedMinMax(AtomKind kind, std::vector<DimExpr> leaves) {
  std::vector<DimExpr> kept;
  for (DimExpr& leaf : leaves) {
    // Whether the min or max of a and b is always b.
    const auto gives_way = [kind](const DimExpr& a, const DimExpr& b) {
      const std::optional<DimBounds> bounds = BoundsOfDifference(a, b);
      return bounds && (kind == AtomKind::kMin ? bounds->min >= 0 : bounds->max <= 0);
    };
    if (std::any_of(kept.begin(), kept.end(), [&](const DimExpr& other) { return gives_way(leaf, other); })) continue;
    std::erase_if(kept, [&](const DimExpr& other) { return gives_way(other, leaf); });
    kept.push_back(std::move(leaf));
  }
  std::sort(kept.begin(), kept.end());
  return NestLeft(kind, kept);
}

DimExpr DimExpr::Algebra::NestLeft(AtomKind kind, absl::Span<const DimExpr> leaves) {
  DimExpr result = leaves[0];
  for (const DimExpr& leaf : leaves.subspan(1)) result = Opaque(kind, result, leaf);
  return result;
}

DimExpr DimExpr::Algebra::Commutative(AtomKind kind, const DimExpr& a, const DimExpr& b) {
  if (!a.valid() || !b.valid()) return a.valid() ? b : a;
  if (a == b) return a;
  std::vector<DimExpr> leaves;
  AppendLeaves(kind, a, &leaves);
  AppendLeaves(kind, b, &leaves);
  std::sort(leaves.begin(), leaves.end());
  leaves.erase(std::unique(leaves.begin(), leaves.end()), leaves.end());
  if (kind == AtomKind::kBcast) return FoldedBcast(std::move(leaves));
  return FoldedMinMax(kind, std::move(leaves));
}

}  // namespace tailor
