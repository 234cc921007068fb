#include "analysis/fact_store.h"

#include <algorithm>
#include <cassert>
#include <numeric>

#include "analysis/dim_terms.h"
#include "analysis/interval.h"
#include "graph/visits.h"

namespace tailor {

using AtomKind = DimExpr::AtomKind;

namespace {

// The fact that `divisor` divides `of`.
struct Multiple {
  DimExpr of;
  int64_t divisor;
};

std::optional<Multiple> FindMultiple(const DimExpr& zero) {
  for (const DimExpr::Term& term : zero.terms()) {
    const DimExpr::Atom* atom = SingleFactor(term);
    if (atom == nullptr || !atom->rhs.constant()) continue;
    const int64_t k = *atom->rhs.constant();
    const DimExpr rest = zero - TermDim(term);
    if (atom->kind == AtomKind::kMod && rest == DimExpr(0)) return Multiple{atom->lhs, k};
    // c*k*floordiv(a, k) - c*(a - r) = 0: k divides a - r.
    if (atom->kind != AtomKind::kFloorDiv || term.coefficient % k != 0) continue;
    const int64_t c = term.coefficient / k;
    const std::optional<int64_t> c_times_r = (rest + DimExpr(c) * atom->lhs).constant();
    if (c_times_r && *c_times_r % c == 0) return Multiple{atom->lhs - DimExpr(*c_times_r / c), k};
  }
  return std::nullopt;
}

}  // namespace

FactStore::FactStore(absl::Span<const SymbolInfo> symbols, absl::Span<const SymbolBinding> bindings) {
  int count = static_cast<int>(symbols.size());
  for (int id = 0; id < count; ++id) {
    SymbolFacts facts;
    facts.range = interval::kEverything;
    facts.order = count + id;
    symbols_.push_back(facts);
  }
  for (size_t i = 0; i < bindings.size(); ++i) {
    symbols_[bindings[i].symbol].bound = true;
    symbols_[bindings[i].symbol].order = static_cast<int>(i);
  }
  for (int id = 0; id < count; ++id) {
    RestrictSymbol(symbols_[id], {symbols[id].min, symbols[id].max}, symbols[id].multiple_of);
  }
}

FactStore::Outcome FactStore::AssertEqual(const DimExpr& a, const DimExpr& b) {
  DimExpr difference = Canonical(a) - Canonical(b);
  if (!difference.valid()) return Outcome::kLearned;
  if (Reduced(difference) == DimExpr(0)) return Outcome::kProved;
  if (!MayBe(difference, 0)) return Outcome::kImpossible;
  return Learn(std::move(difference)) ? Outcome::kLearned : Outcome::kImpossible;
}

bool FactStore::Learn(DimExpr zero) {
  constexpr int kMaxSteps = 256;  // each step settles one equality; replacements requeue stored equalities
  std::vector<DimExpr> pending = {std::move(zero)};
  for (int step = 0; step < kMaxSteps && !pending.empty(); ++step) {
    DimExpr next = Normalized(Reduced(Canonical(pending.back())));
    pending.pop_back();
    if (!next.valid() || next == DimExpr(0)) continue;
    if (!MayBe(next, 0) || !LearnOne(next, &pending)) return false;
  }
  return true;
}

// c*min(a, b) - c*a = 0 implies a <= b; likewise for max.
bool FactStore::LearnOrder(const DimExpr& zero) {
  for (const DimExpr::Term& term : zero.terms()) {
    const DimExpr::Atom* atom = SingleFactor(term);
    if (atom == nullptr || (atom->kind != AtomKind::kMin && atom->kind != AtomKind::kMax)) continue;
    std::vector<DimExpr> leaves = LeavesOf(atom->kind, AtomDim(*atom));
    for (const DimExpr& leaf : leaves) {
      if (zero != TermDim(term) - DimExpr(term.coefficient) * leaf) continue;
      Range range = atom->kind == AtomKind::kMin ? Range{INT64_MIN, 0} : Range{0, INT64_MAX};
      return std::all_of(leaves.begin(), leaves.end(),
                         [&](const DimExpr& other) { return RestrictCanonical(leaf - other, range, 1); });
    }
  }
  return true;
}

// A multiple of `zero` with one exact division fewer: 2*(floordiv(H, 2) - T) is H - 2*T if H is even.
DimExpr FactStore::TimesExactDivisor(const DimExpr& zero) const {
  for (const DimExpr::Term& term : zero.terms()) {
    const DimExpr::Atom* atom = SingleFactor(term);
    if (atom == nullptr || atom->kind != AtomKind::kFloorDiv || !atom->rhs.constant()) continue;
    if (CanonicalDivisor(atom->lhs) % *atom->rhs.constant() == 0) return Canonical(atom->rhs * zero);
  }
  return zero;
}

// Learns a normalized `zero` in the most useful form.
bool FactStore::LearnOne(const DimExpr& zero, std::vector<DimExpr>* pending) {
  if (!LearnOrder(zero)) return false;
  std::optional<Multiple> multiple = FindMultiple(zero);
  if (!multiple) multiple = FindMultiple(TimesExactDivisor(zero));
  if (multiple) return RestrictCanonical(Canonical(multiple->of), interval::kEverything, multiple->divisor);
  if (std::optional<SymbolId> symbol = ReplaceableSymbol(zero)) {
    DimExpr s = DimExpr::Symbol(*symbol), rest = zero - s;
    bool positive = !Mentions(rest, *symbol);
    return Replace(*symbol, positive ? DimExpr(-1) * rest : zero + s, pending);
  }
  zeros_.push_back(zero);
  Forget();
  return true;
}

void FactStore::Forget() {
  canonical_.Forget();
  simplified_.Forget();
  range_.Forget();
  divisor_.Forget();
  over_bound_.Forget();
}

void FactStore::KeepExpression(ExpressionFacts facts) {
  const size_t place = expressions_.size();
  expression_of_.try_emplace(facts.e, place);
  expressions_like_[Direction(facts.e)].push_back(place);
  expressions_.push_back(std::move(facts));
}

// Divides by the coefficients' gcd and by factors that are never 0; makes the leading coefficient positive.
DimExpr FactStore::Normalized(const DimExpr& zero) const {
  if (!zero.valid() || zero.constant()) return zero;
  int64_t content = 0;
  for (const DimExpr::Term& term : zero.terms()) {
    if (term.coefficient == INT64_MIN) return zero;
    content = std::gcd(content, term.coefficient);
  }
  if (zero.terms()[0].coefficient < 0) content = -content;
  return WithoutCommonFactors(DivideCoefficients(zero, content));
}

DimExpr FactStore::WithoutCommonFactors(const DimExpr& zero) const {
  DimExpr result = zero;
  for (const DimExpr::Factor& f : zero.terms()[0].factors) {
    if (AtomRange(*f.atom).min < 1) continue;
    DimExpr::Term divisor{1, {{f.atom, 1}}};
    for (int32_t power = 0; power < f.power; ++power) {
      DimExpr quotient;
      for (const DimExpr::Term& term : result.terms()) {
        std::optional<DimExpr> q = DivideTerm(term, divisor);
        if (!q) return result;
        quotient = quotient + *q;
      }
      result = quotient;
    }
  }
  return result;
}

// A symbol S with zero = +-(S - rest), where `rest` does not mention S. A bound symbol must be the only term on its
// side, so that its replacement has no negative terms. Of two such symbols, the later one is replaced.
std::optional<SymbolId> FactStore::ReplaceableSymbol(const DimExpr& zero) const {
  std::optional<SymbolId> best;
  for (const DimExpr::Term& term : zero.terms()) {
    const DimExpr::Atom* atom = SingleFactor(term);
    if (atom == nullptr || atom->kind != AtomKind::kSymbol || std::abs(term.coefficient) != 1) continue;
    if (Mentions(zero - TermDim(term), atom->symbol)) continue;
    bool alone = std::none_of(zero.terms().begin(), zero.terms().end(), [&](const DimExpr::Term& other) {
      return &other != &term && (other.coefficient > 0) == (term.coefficient > 0);
    });
    if (!alone && symbols_[atom->symbol].bound) continue;
    if (!best || symbols_[atom->symbol].order > symbols_[*best].order) best = atom->symbol;
  }
  return best;
}

bool FactStore::Replace(SymbolId symbol, const DimExpr& by, std::vector<DimExpr>* pending) {
  SymbolFacts& replaced = symbols_[symbol];
  replaced.replacement = by;
  if (!replaced.bound) replaced.definition = by;
  Forget();
  for (SymbolFacts& other : symbols_) {
    if (other.replacement) other.replacement = Canonical(*other.replacement);
  }
  pending->insert(pending->end(), zeros_.begin(), zeros_.end());
  zeros_.clear();
  std::vector<ExpressionFacts> expressions = std::exchange(expressions_, {});
  expression_of_.clear();
  expressions_like_.clear();
  Forget();
  for (const ExpressionFacts& facts : expressions) {
    if (!Restrict(facts.e, facts.range, facts.divisor)) return false;
  }
  return Restrict(by, replaced.range, replaced.divisor);
}

bool FactStore::RestrictSymbol(SymbolFacts& symbol, Range range, int64_t divisor) {
  const Range range_before = symbol.range;
  const int64_t divisor_before = symbol.divisor;
  symbol.range = interval::Intersect(symbol.range, range);
  symbol.divisor = symbol.divisor / std::gcd(symbol.divisor, divisor) * divisor;
  if (symbol.divisor <= 0 || symbol.divisor > INT32_MAX) symbol.divisor = divisor;
  int64_t low = interval::CeilDivideBound(symbol.range.min, symbol.divisor);
  int64_t high = interval::FloorDivideBound(symbol.range.max, symbol.divisor);
  if (low != INT64_MIN && low != INT64_MAX) symbol.range.min = low * symbol.divisor;
  if (high != INT64_MIN && high != INT64_MAX) symbol.range.max = high * symbol.divisor;
  if (symbol.range != range_before || symbol.divisor != divisor_before) Forget();
  return !interval::IsEmpty(symbol.range);
}

bool FactStore::Restrict(const DimExpr& e, Range range, int64_t divisor) {
  return RestrictCanonical(Canonical(e), range, divisor);
}

bool FactStore::RestrictCanonical(const DimExpr& e, Range range, int64_t divisor) {
  if (!e.valid()) return true;
  if (std::optional<int64_t> value = e.constant()) {
    return interval::Contains(range, *value) && *value % divisor == 0;
  }
  std::optional<LinearDim> linear = AsLinear(e);
  if (linear && linear->coefficient > 0) {
    int64_t c = linear->coefficient;
    Range shifted = interval::Add(range, interval::Point(-linear->offset));
    Range solved{interval::CeilDivideBound(shifted.min, c), interval::FloorDivideBound(shifted.max, c)};
    bool divides = linear->offset % divisor == 0;  // then `divisor` divides c*symbol
    int64_t symbol_divisor = divides ? divisor / std::gcd(divisor, c) : 1;
    if (!RestrictSymbol(symbols_[linear->symbol], solved, symbol_divisor)) return false;
    if (divides) return true;
  }
  Range known = CanonicalRange(e);
  const Range both = interval::Intersect(known, range);
  int64_t known_divisor = CanonicalDivisor(e);
  if (interval::IsEmpty(both)) return false;
  if (both == known && known_divisor % divisor == 0) return true;
  if (!RestrictPartsOf(e, both)) return false;
  known = CanonicalRange(e);
  if (interval::IsEmpty(interval::Intersect(known, both))) return false;
  if (interval::Intersect(known, both) == known && known_divisor % divisor == 0) return true;
  if (const auto kept = expression_of_.find(e); kept != expression_of_.end()) {
    ExpressionFacts& facts = expressions_[kept->second];
    facts.range = both;
    facts.divisor = std::lcm(facts.divisor, divisor);
  } else {
    KeepExpression({e, both, divisor});
  }
  Forget();
  return true;
}

// `sum` is in `range`: bounds the operands of each term by `range` minus the range of the other terms.
bool FactStore::RestrictPartsOf(const DimExpr& sum, Range range) {
  return std::all_of(sum.terms().begin(), sum.terms().end(), [&](const DimExpr::Term& term) {
    if (term.factors.empty() || term.coefficient == INT64_MIN) return true;
    const Range rest = CanonicalRange(sum - TermDim(term));
    const int64_t sign = term.coefficient < 0 ? -1 : 1, c = sign * term.coefficient;
    const Range times_c =
        interval::Multiply(interval::Add(range, interval::Multiply(rest, interval::Point(-1))), interval::Point(sign));
    return RestrictFactors(term,
                           {interval::CeilDivideBound(times_c.min, c), interval::FloorDivideBound(times_c.max, c)});
  });
}

// The product of the factors is in `range`. For several factors, infers only that none is 0.
bool FactStore::RestrictFactors(const DimExpr::Term& product, Range range) {
  if (const DimExpr::Atom* atom = SingleFactor(product)) return RestrictAtom(*atom, range);
  const auto is_natural = [&](const DimExpr::Factor& f) { return AtomRange(*f.atom).min >= 0; };
  if (range.min < 1 || !std::all_of(product.factors.begin(), product.factors.end(), is_natural)) return true;
  return std::all_of(product.factors.begin(), product.factors.end(), [&](const DimExpr::Factor& f) {
    return RestrictAtom(*f.atom, {1, INT64_MAX});
  });
}

// Floor division by a constant, min and max are monotone: bounds of the result bound the operands.
bool FactStore::RestrictAtom(const DimExpr::Atom& atom, Range range) {
  CountVisits();
  if (atom.kind == AtomKind::kSymbol) return RestrictSymbol(symbols_[atom.symbol], range, 1);
  const Range known = AtomRange(atom);
  if (interval::IsEmpty(interval::Intersect(known, range))) return false;
  const Range least{range.min > known.min ? range.min : INT64_MIN, INT64_MAX};
  const Range most{INT64_MIN, range.max < known.max ? range.max : INT64_MAX};
  const auto both = [&](Range bound) {
    return bound == interval::kEverything ||
           (RestrictCanonical(atom.lhs, bound, 1) && RestrictCanonical(atom.rhs, bound, 1));
  };
  // One operand of a min or max attains the bound; if one cannot, the other does.
  const auto remaining = [&](Range bound) {
    if (bound == interval::kEverything) return true;
    if (interval::IsEmpty(interval::Intersect(CanonicalRange(atom.rhs), bound))) {
      return RestrictCanonical(atom.lhs, bound, 1);
    }
    if (interval::IsEmpty(interval::Intersect(CanonicalRange(atom.lhs), bound))) {
      return RestrictCanonical(atom.rhs, bound, 1);
    }
    return true;
  };
  switch (atom.kind) {
    case AtomKind::kMin:
      return both(least) && remaining(most);
    case AtomKind::kMax:
      return both(most) && remaining(least);
    case AtomKind::kFloorDiv: {
      const std::optional<int64_t> d = atom.rhs.constant();
      const Range divided = interval::Intersect(least, most);
      if (!d || *d < 1 || divided == interval::kEverything) return true;
      return RestrictCanonical(atom.lhs, interval::Add(interval::Multiply(divided, interval::Point(*d)), {0, *d - 1}),
                               1);
    }
    default:
      return true;
  }
}

// A multiple of the first known zero whose leading term divides a term of `difference`.
std::optional<DimExpr> FactStore::MultipleOfZero(const DimExpr& difference) const {
  for (const DimExpr& zero : zeros_) {
    for (const DimExpr::Term& term : difference.terms()) {
      if (std::optional<DimExpr> quotient = DivideTerm(term, zero.terms()[0])) return *quotient * zero;
    }
  }
  return std::nullopt;
}

// Subtracts multiples of known zeros until no term can be eliminated.
DimExpr FactStore::Reduced(DimExpr difference) const {
  constexpr int kMaxSteps = 32;
  for (int step = 0; step < kMaxSteps && difference.valid() && !difference.constant(); ++step) {
    const std::optional<DimExpr> multiple = MultipleOfZero(difference);
    if (!multiple) break;
    difference = difference - *multiple;
  }
  return difference;
}

bool FactStore::ProvablyEqual(const DimExpr& a, const DimExpr& b) const {
  if (!a.valid() || !b.valid()) return false;
  if (a == b) return true;
  DimExpr difference = Canonical(a) - Canonical(b);
  if (!difference.valid()) return false;
  if (CanonicalRange(difference) == interval::Point(0)) return true;
  return Reduced(difference) == DimExpr(0);
}

DimExpr FactStore::OverBoundSymbols(const DimExpr& e) const {
  return over_bound_.Of(e, [&] { return Defined(e); });
}

DimExpr FactStore::Defined(const DimExpr& e) const {
  DimExpr current = e;
  for (size_t round = 0; round < symbols_.size(); ++round) {
    DimExpr next = current.Substitute(
        [&](SymbolId id) { return symbols_[id].definition ? *symbols_[id].definition : DimExpr::Symbol(id); });
    if (!next.valid() || next == current) break;
    current = std::move(next);
  }
  return current;
}

}  // namespace tailor
