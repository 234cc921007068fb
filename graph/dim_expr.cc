#include "graph/dim_expr.h"

#include <algorithm>
#include <cassert>
#include <numeric>

#include "absl/strings/str_cat.h"

namespace tailor {

// Immutable. `size` counts the nodes of the expression as a tree, so that every recursive walk over
// a valid expression is bounded by kMaxSize.
struct DimExpr::Poly {
  bool valid = true;
  std::vector<Term> terms;
  int64_t size = 0;
  size_t hash = 0;
};

namespace {

using Atom = DimExpr::Atom;
using AtomKind = DimExpr::AtomKind;
using Factor = DimExpr::Factor;
using Term = DimExpr::Term;

constexpr int64_t kMaxSize = 1024;

int64_t FloorDivInt(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }  // b > 0
int64_t FloorModInt(int64_t a, int64_t b) { return a % b + (a % b < 0 ? b : 0); }  // b > 0

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

// Higher degrees first, the constant last; coefficients do not count.
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

// The quotient a / b of single terms, where it is exact; b is not the constant 0.
std::optional<Term> DivideTerms(const Term& a, const Term& b) {
  if (b.coefficient == -1 || a.coefficient % b.coefficient != 0) return std::nullopt;
  Term quotient{a.coefficient / b.coefficient, a.factors};
  for (const Factor& divisor : b.factors) {
    auto it = std::find_if(quotient.factors.begin(), quotient.factors.end(), [&](const Factor& f) {
      return CompareAtoms(*f.atom, *divisor.atom) == 0;
    });
    if (it == quotient.factors.end() || it->power < divisor.power) return std::nullopt;
    it->power -= divisor.power;
    if (it->power == 0) quotient.factors.erase(it);
  }
  return quotient;
}

}  // namespace

struct DimExpr::Algebra {
  static DimExpr Invalid() {
    static const auto* invalid = new std::shared_ptr<const Poly>([] {
      auto poly = std::make_shared<Poly>();
      poly->valid = false;
      return poly;
    }());
    return DimExpr(*invalid);
  }

  // `terms` must be canonical already.
  static std::shared_ptr<const Poly> MakePoly(std::vector<Term> terms) {
    auto poly = std::make_shared<Poly>();
    poly->hash = 1;
    for (const Term& term : terms) {
      poly->hash = Mix(poly->hash, static_cast<size_t>(term.coefficient));
      poly->size += 1;
      for (const Factor& f : term.factors) {
        const Atom& atom = *f.atom;
        poly->hash = Mix(poly->hash, static_cast<size_t>(atom.kind) + (f.power << 8));
        poly->hash = Mix(poly->hash, static_cast<size_t>(atom.symbol));
        poly->hash = Mix(poly->hash, Mix(atom.lhs.poly_->hash, atom.rhs.poly_->hash));
        poly->size += f.power + atom.lhs.poly_->size + atom.rhs.poly_->size;
      }
    }
    poly->terms = std::move(terms);
    return poly;
  }

  static DimExpr FromCanonical(std::vector<Term> terms) {
    std::shared_ptr<const Poly> poly = MakePoly(std::move(terms));
    return poly->size <= kMaxSize ? DimExpr(std::move(poly)) : Invalid();
  }

  // Sorts and combines `terms`, whose factor lists are canonical.
  static DimExpr FromTerms(std::vector<Term> terms) {
    std::sort(terms.begin(), terms.end(),
              [](const Term& a, const Term& b) { return CompareMonomials(a, b) < 0; });
    std::vector<Term> combined;
    for (Term& term : terms) {
      if (combined.empty() || CompareMonomials(combined.back(), term) != 0) {
        combined.push_back(std::move(term));
      } else if (__builtin_add_overflow(combined.back().coefficient, term.coefficient,
                                        &combined.back().coefficient)) {
        return Invalid();
      }
    }
    combined.erase(std::remove_if(combined.begin(), combined.end(),
                                  [](const Term& t) { return t.coefficient == 0; }),
                   combined.end());
    return FromCanonical(std::move(combined));
  }

  static DimExpr Opaque(AtomKind kind, const DimExpr& lhs, const DimExpr& rhs) {
    auto atom = std::make_shared<const Atom>(Atom{kind, -1, lhs, rhs});
    return FromCanonical({Term{1, {Factor{std::move(atom), 1}}}});
  }

  // The atom if `e` is exactly one opaque operation of this kind.
  static const Atom* SingleAtom(const DimExpr& e, AtomKind kind) {
    if (e.terms().size() != 1 || e.terms()[0].coefficient != 1) return nullptr;
    const std::vector<Factor>& factors = e.terms()[0].factors;
    if (factors.size() != 1 || factors[0].power != 1 || factors[0].atom->kind != kind) return nullptr;
    return factors[0].atom.get();
  }

  static int64_t ConstantTerm(const DimExpr& e) {
    if (e.terms().empty() || !e.terms().back().factors.empty()) return 0;
    return e.terms().back().coefficient;
  }

  // a = divisor * quotient + gcd * rest + low with 0 <= low < gcd; divisor = gcd * reduced, and the
  // constant of `rest` lies in [0, reduced).
  struct Division {
    DimExpr quotient, rest;
    int64_t gcd, reduced, low;
  };

  static Division DivideByConstant(const DimExpr& a, int64_t divisor) {
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
    return {FromCanonical(std::move(quotient)), FromCanonical(std::move(rest)), gcd, divisor / gcd,
            constant % gcd};
  }

  static DimExpr FloorDivByConstant(const DimExpr& a, int64_t divisor) {
    Division d = DivideByConstant(a, divisor);
    if (d.rest.constant()) return d.quotient;
    int64_t offset = ConstantTerm(d.rest);
    DimExpr base = d.rest - offset;
    if (const Atom* inner = SingleAtom(base, AtomKind::kFloorDiv); inner && inner->rhs.constant()) {
      int64_t product;  // (x floordiv e + c) floordiv r = (x + c*e) floordiv (e*r)
      DimExpr shifted = inner->lhs + inner->rhs * offset;
      if (shifted.valid() && !__builtin_mul_overflow(*inner->rhs.constant(), d.reduced, &product)) {
        return d.quotient + FloorDivByConstant(shifted, product);
      }
    }
    if (const Atom* inner = SingleAtom(base, AtomKind::kMod); inner && inner->rhs.constant()) {
      if (*inner->rhs.constant() <= d.reduced - offset) return d.quotient;
    }
    return d.quotient + Opaque(AtomKind::kFloorDiv, d.rest, d.reduced);
  }

  static DimExpr ModByConstant(const DimExpr& a, int64_t divisor) {
    Division d = DivideByConstant(a, divisor);
    if (d.rest.constant()) return d.rest * d.gcd + d.low;
    int64_t offset = ConstantTerm(d.rest);
    const Atom* inner = SingleAtom(d.rest - offset, AtomKind::kMod);
    if (inner != nullptr && inner->rhs.constant()) {
      int64_t modulus = *inner->rhs.constant();
      if (modulus % d.reduced == 0) {
        return ModByConstant(inner->lhs + offset, d.reduced) * d.gcd + d.low;
      }
      if (modulus <= d.reduced - offset) return d.rest * d.gcd + d.low;
    }
    return Opaque(AtomKind::kMod, d.rest, d.reduced) * d.gcd + d.low;
  }

  // a = quotient * b + rest for a symbolic b. A single-term b takes every term it divides out; a
  // longer b divides only where nothing is left.
  static std::pair<DimExpr, DimExpr> DivideBySymbolic(const DimExpr& a, const DimExpr& b) {
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

  static void AppendLeaves(AtomKind kind, const DimExpr& e, std::vector<DimExpr>* leaves) {
    if (const Atom* atom = SingleAtom(e, kind)) {
      AppendLeaves(kind, atom->lhs, leaves);
      AppendLeaves(kind, atom->rhs, leaves);
    } else {
      leaves->push_back(e);
    }
  }

  // a - b where only their constant terms differ.
  static std::optional<int64_t> ConstantDifference(const DimExpr& a, const DimExpr& b) {
    int64_t ca = ConstantTerm(a), cb = ConstantTerm(b), difference;
    size_t na = a.terms().size() - (ca != 0), nb = b.terms().size() - (cb != 0);
    if (na != nb || __builtin_sub_overflow(ca, cb, &difference)) return std::nullopt;
    for (size_t i = 0; i < na; ++i) {
      if (a.terms()[i].coefficient != b.terms()[i].coefficient) return std::nullopt;
      if (CompareMonomials(a.terms()[i], b.terms()[i]) != 0) return std::nullopt;
    }
    return difference;
  }

  // Only the constant decides where there is one; two cannot agree. `leaves` has no repeats.
  static DimExpr FoldedBcast(std::vector<DimExpr> leaves) {
    std::optional<DimExpr> constant;
    std::vector<DimExpr> symbolic;
    for (DimExpr& leaf : leaves) {
      if (!leaf.constant()) {
        symbolic.push_back(std::move(leaf));
      } else if (leaf.constant() != 1) {
        if (constant) return Invalid();
        constant = leaf;
      }
    }
    if (constant) return *constant;
    return symbolic.empty() ? DimExpr(1) : NestLeft(AtomKind::kBcast, symbolic);
  }

  // Of leaves that differ by a constant, one stays. `leaves` is sorted.
  static DimExpr FoldedMinMax(AtomKind kind, std::vector<DimExpr> leaves) {
    std::vector<DimExpr> kept;
    for (DimExpr& leaf : leaves) {
      std::optional<int64_t> difference;
      auto rival = std::find_if(kept.begin(), kept.end(), [&](const DimExpr& other) {
        difference = ConstantDifference(leaf, other);
        return difference.has_value();
      });
      if (rival == kept.end()) {
        kept.push_back(std::move(leaf));
      } else if ((kind == AtomKind::kMin) == (*difference < 0)) {
        *rival = std::move(leaf);
      }
    }
    std::sort(kept.begin(), kept.end());
    return NestLeft(kind, kept);
  }

  static DimExpr NestLeft(AtomKind kind, absl::Span<const DimExpr> leaves) {
    DimExpr result = leaves[0];
    for (const DimExpr& leaf : leaves.subspan(1)) result = Opaque(kind, result, leaf);
    return result;
  }

  static DimExpr Commutative(AtomKind kind, const DimExpr& a, const DimExpr& b) {
    if (!a.valid() || !b.valid()) return Invalid();
    if (a == b) return a;
    std::vector<DimExpr> leaves;
    AppendLeaves(kind, a, &leaves);
    AppendLeaves(kind, b, &leaves);
    std::sort(leaves.begin(), leaves.end());
    leaves.erase(std::unique(leaves.begin(), leaves.end()), leaves.end());
    if (kind == AtomKind::kBcast) return FoldedBcast(std::move(leaves));
    return FoldedMinMax(kind, std::move(leaves));
  }
};

DimExpr::DimExpr(int64_t constant) {
  constexpr int64_t kCached = 17;
  static const auto* cache = [] {
    auto* polys = new std::vector<std::shared_ptr<const Poly>>{Algebra::MakePoly({})};
    for (int64_t c = 1; c < kCached; ++c) polys->push_back(Algebra::MakePoly({Term{c, {}}}));
    return polys;
  }();
  poly_ = constant >= 0 && constant < kCached ? (*cache)[constant] : Algebra::MakePoly({Term{constant, {}}});
}

DimExpr DimExpr::Symbol(SymbolId id) {
  auto atom = std::make_shared<const Atom>(Atom{AtomKind::kSymbol, id, 0, 0});
  return Algebra::FromCanonical({Term{1, {Factor{std::move(atom), 1}}}});
}

DimExpr operator+(const DimExpr& a, const DimExpr& b) {
  if (!a.valid() || !b.valid()) return DimExpr::Algebra::Invalid();
  std::vector<Term> terms(a.terms().begin(), a.terms().end());
  terms.insert(terms.end(), b.terms().begin(), b.terms().end());
  return DimExpr::Algebra::FromTerms(std::move(terms));
}

DimExpr operator-(const DimExpr& a, const DimExpr& b) { return a + DimExpr(-1) * b; }

DimExpr operator*(const DimExpr& a, const DimExpr& b) {
  if (!a.valid() || !b.valid() || a.terms().size() * b.terms().size() > kMaxSize) {
    return DimExpr::Algebra::Invalid();
  }
  std::vector<Term> terms;
  for (const Term& x : a.terms()) {
    for (const Term& y : b.terms()) {
      Term product{0, MultiplyFactors(x.factors, y.factors)};
      if (__builtin_mul_overflow(x.coefficient, y.coefficient, &product.coefficient)) {
        return DimExpr::Algebra::Invalid();
      }
      terms.push_back(std::move(product));
    }
  }
  return DimExpr::Algebra::FromTerms(std::move(terms));
}

DimExpr DimExpr::FloorDiv(const DimExpr& a, const DimExpr& b) {
  if (!a.valid() || !b.valid()) return Algebra::Invalid();
  if (std::optional<int64_t> divisor = b.constant()) {
    return *divisor > 0 ? Algebra::FloorDivByConstant(a, *divisor) : Algebra::Invalid();
  }
  auto [quotient, rest] = Algebra::DivideBySymbolic(a, b);
  if (rest == DimExpr(0)) return quotient;
  return quotient + Algebra::Opaque(AtomKind::kFloorDiv, rest, b);
}

DimExpr DimExpr::CeilDiv(const DimExpr& a, int64_t b) { return FloorDiv(a + (DimExpr(b) - 1), b); }

DimExpr DimExpr::Mod(const DimExpr& a, const DimExpr& b) {
  if (!a.valid() || !b.valid()) return Algebra::Invalid();
  if (std::optional<int64_t> divisor = b.constant()) {
    return *divisor > 0 ? Algebra::ModByConstant(a, *divisor) : Algebra::Invalid();
  }
  auto [quotient, rest] = Algebra::DivideBySymbolic(a, b);
  return rest == DimExpr(0) ? rest : Algebra::Opaque(AtomKind::kMod, rest, b);
}

DimExpr DimExpr::Min(const DimExpr& a, const DimExpr& b) {
  return Algebra::Commutative(AtomKind::kMin, a, b);
}

DimExpr DimExpr::Max(const DimExpr& a, const DimExpr& b) {
  return Algebra::Commutative(AtomKind::kMax, a, b);
}

DimExpr DimExpr::Bcast(const DimExpr& a, const DimExpr& b) {
  return Algebra::Commutative(AtomKind::kBcast, a, b);
}

DimExpr DimExpr::Make(AtomKind kind, const DimExpr& a, const DimExpr& b) {
  assert(kind != AtomKind::kSymbol);
  if (kind == AtomKind::kFloorDiv) return FloorDiv(a, b);
  if (kind == AtomKind::kMod) return Mod(a, b);
  return Algebra::Commutative(kind, a, b);
}

bool DimExpr::valid() const { return poly_->valid; }

std::optional<int64_t> DimExpr::constant() const {
  if (!valid() || poly_->terms.size() > 1) return std::nullopt;
  if (poly_->terms.empty()) return 0;
  if (!poly_->terms[0].factors.empty()) return std::nullopt;
  return poly_->terms[0].coefficient;
}

std::optional<SymbolId> DimExpr::symbol() const {
  const Atom* atom = Algebra::SingleAtom(*this, AtomKind::kSymbol);
  if (atom == nullptr) return std::nullopt;
  return atom->symbol;
}

absl::Span<const DimExpr::Term> DimExpr::terms() const { return poly_->terms; }

size_t DimExpr::Hash() const { return poly_->hash; }

int DimExpr::Compare(const DimExpr& a, const DimExpr& b) {
  if (a.poly_ == b.poly_) return 0;
  if (a.valid() != b.valid()) return Sign(!a.valid());
  size_t common = std::min(a.terms().size(), b.terms().size());
  for (size_t i = 0; i < common; ++i) {
    const Term &x = a.terms()[i], &y = b.terms()[i];
    if (int c = CompareMonomials(x, y); c != 0) return c;
    if (x.coefficient != y.coefficient) return Sign(x.coefficient < y.coefficient);
  }
  if (a.terms().size() == b.terms().size()) return 0;
  return Sign(a.terms().size() < b.terms().size());
}

DimExpr DimExpr::Substitute(const std::function<DimExpr(SymbolId)>& replacement) const {
  if (!valid()) return *this;
  DimExpr sum;
  for (const Term& term : terms()) {
    DimExpr product = term.coefficient;
    for (const Factor& f : term.factors) {
      const Atom& atom = *f.atom;
      DimExpr base = atom.kind == AtomKind::kSymbol
                         ? replacement(atom.symbol)
                         : Make(atom.kind, atom.lhs.Substitute(replacement), atom.rhs.Substitute(replacement));
      for (int32_t i = 0; i < f.power; ++i) product = product * base;
    }
    sum = sum + product;
  }
  return sum;
}

std::vector<SymbolId> DimExpr::Symbols() const {
  std::vector<SymbolId> symbols;
  for (const Term& term : terms()) {
    for (const Factor& f : term.factors) {
      if (f.atom->kind == AtomKind::kSymbol) {
        symbols.push_back(f.atom->symbol);
        continue;
      }
      for (const DimExpr* operand : {&f.atom->lhs, &f.atom->rhs}) {
        std::vector<SymbolId> inner = operand->Symbols();
        symbols.insert(symbols.end(), inner.begin(), inner.end());
      }
    }
  }
  std::sort(symbols.begin(), symbols.end());
  symbols.erase(std::unique(symbols.begin(), symbols.end()), symbols.end());
  return symbols;
}

namespace {

std::optional<int64_t> EvaluateAtom(const Atom& atom, absl::Span<const int64_t> symbols) {
  if (atom.kind == AtomKind::kSymbol) {
    assert(static_cast<size_t>(atom.symbol) < symbols.size());
    return symbols[atom.symbol];
  }
  std::optional<int64_t> a = atom.lhs.Evaluate(symbols), b = atom.rhs.Evaluate(symbols);
  if (!a || !b) return std::nullopt;
  switch (atom.kind) {
    case AtomKind::kFloorDiv:
      return *b > 0 ? std::optional(FloorDivInt(*a, *b)) : std::nullopt;
    case AtomKind::kMod:
      return *b > 0 ? std::optional(FloorModInt(*a, *b)) : std::nullopt;
    case AtomKind::kMin:
      return std::min(*a, *b);
    case AtomKind::kMax:
      return std::max(*a, *b);
    default:
      return *a == 1 ? *b : *a;
  }
}

const char* FunctionName(AtomKind kind) {
  switch (kind) {
    case AtomKind::kFloorDiv:
      return "floordiv";
    case AtomKind::kMod:
      return "mod";
    case AtomKind::kMin:
      return "min";
    case AtomKind::kMax:
      return "max";
    default:
      return "bcast";
  }
}

}  // namespace

std::optional<int64_t> DimExpr::Evaluate(absl::Span<const int64_t> symbols) const {
  if (!valid()) return std::nullopt;
  int64_t sum = 0;
  for (const Term& term : terms()) {
    int64_t product = term.coefficient;
    for (const Factor& f : term.factors) {
      std::optional<int64_t> value = EvaluateAtom(*f.atom, symbols);
      if (!value) return std::nullopt;
      for (int32_t i = 0; i < f.power; ++i) {
        if (__builtin_mul_overflow(product, *value, &product)) return std::nullopt;
      }
    }
    if (__builtin_add_overflow(sum, product, &sum)) return std::nullopt;
  }
  return sum;
}

std::string DimExpr::ToText(const std::function<std::string(SymbolId)>& name) const {
  if (!valid()) return "<invalid>";
  if (terms().empty()) return "0";
  std::string text;
  for (const Term& term : terms()) {
    bool negative = term.coefficient < 0;
    absl::StrAppend(&text, text.empty() ? (negative ? "-" : "") : (negative ? " - " : " + "));
    uint64_t magnitude = negative ? -static_cast<uint64_t>(term.coefficient) : term.coefficient;
    const char* separator = "";
    if (magnitude != 1 || term.factors.empty()) {
      absl::StrAppend(&text, magnitude);
      separator = "*";
    }
    for (const Factor& f : term.factors) {
      const Atom& atom = *f.atom;
      std::string factor = atom.kind == AtomKind::kSymbol
                               ? name(atom.symbol)
                               : absl::StrCat(FunctionName(atom.kind), "(", atom.lhs.ToText(name), ", ",
                                              atom.rhs.ToText(name), ")");
      for (int32_t i = 0; i < f.power; ++i) {
        absl::StrAppend(&text, separator, factor);
        separator = "*";
      }
    }
  }
  return text;
}

DimExpr ElementCount(absl::Span<const DimExpr> shape) {
  DimExpr count = 1;
  for (const DimExpr& dim : shape) count = count * dim;
  return count;
}

}  // namespace tailor
