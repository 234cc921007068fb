// FactStore: the facts about a graph's symbols, and the proofs from them; the engine of ShapeFacts.
//
// A symbol that equals an earlier symbol or an expression is replaced by it (union-find in solved form: replacements
// never mention a replaced symbol). Equalities that replace no symbol are kept as polynomials that are zero;
// differences are reduced modulo these, which proves equalities of products. Facts about an expression other than a
// single symbol (B*S <= 512) are indexed by its non-constant, sign-normalized part.
//
// Canonical forms, ranges and divisors are cached per expression until a new fact is learned. A first query is linear
// in the number of distinct subexpressions, a repeated one O(1).
#ifndef TAILOR_ANALYSIS_FACT_STORE_H_
#define TAILOR_ANALYSIS_FACT_STORE_H_

#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "analysis/dim_memo.h"
#include "analysis/shape_facts.h"
#include "graph/graph.h"

namespace tailor {

class FactStore {
 public:
  enum class Outcome { kProved, kLearned, kImpossible };

  // Starts from declared ranges and divisors. Symbols in `bindings` are preferred as representatives, in this order;
  // `bindings` has a symbol at most once.
  FactStore(absl::Span<const SymbolInfo> symbols, absl::Span<const SymbolBinding> bindings);

  // Asserts a == b. kProved: implied by the known facts. kLearned: a fact from now on, so that the caller must check it
  // at run time. kImpossible: it contradicts a fact; nothing more is learned.
  Outcome AssertEqual(const DimExpr& a, const DimExpr& b);
  // Learns that `e` is in `range` and a multiple of `divisor`. False if that contradicts a fact.
  bool Restrict(const DimExpr& e, Range range, int64_t divisor = 1);

  DimExpr Canonical(const DimExpr& e) const;
  bool ProvablyEqual(const DimExpr& a, const DimExpr& b) const;
  Range RangeOf(const DimExpr& e) const;
  int64_t DivisorOf(const DimExpr& e) const;  // 0 if `e` is provably 0
  bool NeverOne(const DimExpr& e) const { return !MayBe(e, 1); }
  bool MayBe(const DimExpr& e, int64_t value) const;

  bool bound(SymbolId symbol) const { return symbols_[symbol].bound; }
  // `e` with unbound symbols replaced by their definitions. Unbound symbols without a definition remain.
  DimExpr OverBoundSymbols(const DimExpr& e) const;

 private:
  DimExpr Defined(const DimExpr& e) const;  // OverBoundSymbols, uncached

  struct SymbolFacts {
    Range range;
    int64_t divisor = 1;
    int order = 0;  // lower is preferred as representative
    bool bound = false;
    std::optional<DimExpr> replacement;
    std::optional<DimExpr> definition;  // of an unbound symbol, the first one learned
  };
  struct ExpressionFacts {
    DimExpr e;
    Range range;
    int64_t divisor = 1;
  };

  // fact_store.cc: learning.
  bool Learn(DimExpr zero);
  bool LearnOrder(const DimExpr& zero);
  bool LearnOne(const DimExpr& zero, std::vector<DimExpr>* pending);
  DimExpr TimesExactDivisor(const DimExpr& zero) const;
  DimExpr Normalized(const DimExpr& zero) const;
  DimExpr WithoutCommonFactors(const DimExpr& zero) const;
  std::optional<SymbolId> ReplaceableSymbol(const DimExpr& zero) const;
  bool Replace(SymbolId symbol, const DimExpr& by, std::vector<DimExpr>* pending);
  bool RestrictSymbol(SymbolFacts& symbol, Range range, int64_t divisor);
  void KeepExpression(ExpressionFacts facts);
  void Forget();  // clears the caches; call after every change of a fact
  bool RestrictCanonical(const DimExpr& e, Range range, int64_t divisor);
  bool RestrictPartsOf(const DimExpr& sum, Range range);
  bool RestrictFactors(const DimExpr::Term& product, Range range);
  bool RestrictAtom(const DimExpr::Atom& atom, Range range);
  std::optional<DimExpr> MultipleOfZero(const DimExpr& difference) const;
  DimExpr Reduced(DimExpr difference) const;

  // simplify.cc: one round of simplification over representatives.
  DimExpr SimplifyOnce(const DimExpr& e) const;
  DimExpr SimplifyTerms(const DimExpr& e) const;
  DimExpr SimplifyAtom(const DimExpr::Atom& atom) const;
  DimExpr SimplifyBcast(const DimExpr& e) const;
  DimExpr SimplifyMinMax(DimExpr::AtomKind kind, const DimExpr& e) const;
  DimExpr SimplifyDivision(DimExpr::AtomKind kind, const DimExpr& a, const DimExpr& b) const;
  DimExpr MultiplyOutExactDivisions(const DimExpr& e) const;

  // ranges.cc: for canonical expressions.
  Range CanonicalRange(const DimExpr& e) const;
  Range RangeOfTerms(const DimExpr& e) const;
  Range RelaxedRange(const DimExpr& e) const;
  Range MonomialRange(const DimExpr::Term& term) const;
  Range AtomRange(const DimExpr::Atom& atom) const;
  int64_t CanonicalDivisor(const DimExpr& e) const;
  int64_t DivisorOfTerms(const DimExpr& e) const;
  int64_t TermDivisor(const DimExpr::Term& term) const;
  int64_t AtomDivisor(const DimExpr::Atom& atom) const;
  const ExpressionFacts* FindExpression(const DimExpr& e) const;
  Range RangeFromSums(const DimExpr& sum) const;

  std::vector<SymbolFacts> symbols_;
  std::vector<ExpressionFacts> expressions_;
  absl::flat_hash_map<DimExpr, size_t> expression_of_;                  // by ExpressionFacts::e
  absl::flat_hash_map<DimExpr, std::vector<size_t>> expressions_like_;  // by Direction(ExpressionFacts::e)
  std::vector<DimExpr> zeros_;
  DimMemo<DimExpr> canonical_, simplified_, over_bound_;
  DimMemo<Range> range_;
  DimMemo<int64_t> divisor_;
};

}  // namespace tailor

#endif  // TAILOR_ANALYSIS_FACT_STORE_H_
