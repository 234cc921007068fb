#include "graph/dim_expr.h"

#include <algorithm>
#include <cassert>

#include "absl/strings/str_cat.h"
#include "graph/dim_algebra.h"
#include "graph/dim_bounds.h"

namespace tailor {
namespace {

using Atom = DimExpr::Atom;
using AtomKind = DimExpr::AtomKind;
using Factor = DimExpr::Factor;
using Term = DimExpr::Term;

}  // namespace

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
  return Algebra::FromCanonical({Term{1, {Factor{Algebra::MakeAtom(AtomKind::kSymbol, id, 0, 0), 1}}}});
}

DimExpr DimExpr::OfTerm(Term term) {
  if (term.coefficient == 0) return 0;
  std::erase_if(term.factors, [](const Factor& f) { return f.power == 0; });
  return Algebra::FromCanonical({std::move(term)});
}

DimExpr operator+(const DimExpr& a, const DimExpr& b) {
  if (!a.valid() || !b.valid()) return a.valid() ? b : a;
  std::vector<Term> terms(a.terms().begin(), a.terms().end());
  terms.insert(terms.end(), b.terms().begin(), b.terms().end());
  return DimExpr::Algebra::FromTerms(std::move(terms));
}

DimExpr operator-(const DimExpr& a, const DimExpr& b) { return a + DimExpr(-1) * b; }

DimExpr operator*(const DimExpr& a, const DimExpr& b) {
  if (!a.valid() || !b.valid()) return a.valid() ? b : a;
  if (a.terms().size() * b.terms().size() > DimExpr::Algebra::kMaxSize) {
    return DimExpr::Algebra::Invalid(DimExpr::Algebra::Problem::kSize);
  }
  std::vector<Term> terms;
  for (const Term& x : a.terms()) {
    for (const Term& y : b.terms()) {
      Term product{0, MultiplyFactors(x.factors, y.factors)};
      if (__builtin_mul_overflow(x.coefficient, y.coefficient, &product.coefficient)) {
        return DimExpr::Algebra::Invalid(DimExpr::Algebra::Problem::kOverflow);
      }
      terms.push_back(std::move(product));
    }
  }
  return DimExpr::Algebra::FromTerms(std::move(terms));
}

DimExpr DimExpr::FloorDiv(const DimExpr& a, const DimExpr& b) {
  if (!a.valid() || !b.valid()) return a.valid() ? b : a;
  if (std::optional<int64_t> divisor = b.constant()) {
    return *divisor > 0 ? Algebra::FloorDivByConstant(a, *divisor) : Algebra::Invalid(Algebra::Problem::kDivisor);
  }
  auto [quotient, rest] = Algebra::DivideBySymbolic(a, b);
  if (rest == DimExpr(0)) return quotient;
  return quotient + Algebra::Opaque(AtomKind::kFloorDiv, rest, b);
}

DimExpr DimExpr::CeilDiv(const DimExpr& a, const DimExpr& b) { return FloorDiv(a + (b - 1), b); }

DimExpr DimExpr::TruncDiv(const DimExpr& a, const DimExpr& b) {
  const DimExpr down = FloorDiv(a, b);
  if (!down.valid() || LowerBound(a).value_or(-1) >= 0) return down;
  return Max(down, 0) + Min(CeilDiv(a, b), 0);
}

DimExpr DimExpr::TruncMod(const DimExpr& a, const DimExpr& b) {
  if (LowerBound(a).value_or(-1) >= 0) return Mod(a, b);
  return a - TruncDiv(a, b) * b;
}

DimExpr DimExpr::Less(const DimExpr& a, const DimExpr& b) { return Min(Max(b - a, 0), 1); }

DimExpr DimExpr::Equal(const DimExpr& a, const DimExpr& b) { return 1 - Min(Max(Max(a - b, b - a), 0), 1); }

DimExpr DimExpr::Select(const DimExpr& condition, const DimExpr& a, const DimExpr& b) {
  return b + condition * (a - b);
}

DimExpr DimExpr::Mod(const DimExpr& a, const DimExpr& b) {
  if (!a.valid() || !b.valid()) return a.valid() ? b : a;
  if (std::optional<int64_t> divisor = b.constant()) {
    return *divisor > 0 ? Algebra::ModByConstant(a, *divisor) : Algebra::Invalid(Algebra::Problem::kDivisor);
  }
  auto [quotient, rest] = Algebra::DivideBySymbolic(a, b);
  return rest == DimExpr(0) ? rest : Algebra::Opaque(AtomKind::kMod, rest, b);
}

DimExpr DimExpr::Min(const DimExpr& a, const DimExpr& b) { return Algebra::Commutative(AtomKind::kMin, a, b); }

DimExpr DimExpr::Max(const DimExpr& a, const DimExpr& b) { return Algebra::Commutative(AtomKind::kMax, a, b); }

DimExpr DimExpr::Bcast(const DimExpr& a, const DimExpr& b) { return Algebra::Commutative(AtomKind::kBcast, a, b); }

DimExpr DimExpr::Make(AtomKind kind, const DimExpr& a, const DimExpr& b) {
  assert(kind != AtomKind::kSymbol);
  if (kind == AtomKind::kFloorDiv) return FloorDiv(a, b);
  if (kind == AtomKind::kMod) return Mod(a, b);
  return Algebra::Commutative(kind, a, b);
}

bool DimExpr::valid() const { return poly_->valid; }

const char* DimExpr::problem() const {
  assert(!valid());
  return poly_->problem;
}

bool DimExpr::outgrown() const { return poly_ == Algebra::Invalid(Algebra::Problem::kSize).poly_; }

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
  if (a.valid() != b.valid()) return a.valid() ? 1 : -1;
  size_t common = std::min(a.terms().size(), b.terms().size());
  for (size_t i = 0; i < common; ++i) {
    const Term &x = a.terms()[i], &y = b.terms()[i];
    if (int c = CompareMonomials(x, y); c != 0) return c;
    if (x.coefficient != y.coefficient) return x.coefficient < y.coefficient ? -1 : 1;
  }
  if (a.terms().size() == b.terms().size()) return 0;
  return a.terms().size() < b.terms().size() ? -1 : 1;
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
      std::string factor =
          atom.kind == AtomKind::kSymbol
              ? name(atom.symbol)
              : absl::StrCat(FunctionName(atom.kind), "(", atom.lhs.ToText(name), ", ", atom.rhs.ToText(name), ")");
      for (int32_t i = 0; i < f.power; ++i) {
        absl::StrAppend(&text, separator, factor);
        separator = "*";
      }
    }
  }
  return text;
}

const Atom* SingleFactor(const Term& term) {
  if (term.factors.size() != 1 || term.factors[0].power != 1) return nullptr;
  return term.factors[0].atom.get();
}

DimExpr ElementCount(absl::Span<const DimExpr> shape) {
  DimExpr count = 1;
  for (const DimExpr& dim : shape) count = count * dim;
  return count;
}

}  // namespace tailor
