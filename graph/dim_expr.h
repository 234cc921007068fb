// DimExpr: a dim size as a canonical integer polynomial over symbols (BladeDISC section 3.1).
//
// A DimExpr is a sum of terms `coefficient * atom^power * ...`. An atom is a symbol, or one of the opaque operations
// floordiv, mod, min, max and bcast over two DimExprs.
//
// Invariants: terms are sorted and no coefficient is zero. Factors within a term are sorted and have positive powers.
// Operations with a known result are folded: constants, x floordiv 1, min(x, x), (4*S) floordiv 4 = S, ... Nested min,
// max or bcast of one kind form one sorted list without repeats, nested to the left. Hence structural equality implies
// equal values; ShapeFacts proves equalities beyond structure.
//
// Semantics: floordiv and mod round towards minus infinity and need a divisor > 0. bcast(a, b) is a, or b where a = 1
// (numpy broadcasting of two dim sizes); it is commutative, and folded if one of them is known.
//
// Expressions and atoms are interned (graph/intern_table.h): equality, hashing and copying are O(1), construction is
// linear in the number of terms, and equal subexpressions are shared.
//
// Immutable value type; cheap to copy; safe to share between threads.
#ifndef TAILOR_GRAPH_DIM_EXPR_H_
#define TAILOR_GRAPH_DIM_EXPR_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"

namespace tailor {

using SymbolId = int32_t;

class DimExpr {
 public:
  enum class AtomKind : uint8_t { kSymbol, kFloorDiv, kMod, kMin, kMax, kBcast };
  struct Atom;
  struct Factor {
    std::shared_ptr<const Atom> atom;
    int32_t power = 1;
  };
  struct Term {
    int64_t coefficient = 0;
    std::vector<Factor> factors;  // empty: the constant term
  };

  DimExpr() : DimExpr(0) {}
  DimExpr(int64_t constant);  // NOLINT(runtime/explicit): lets code write 3 * S + 1
  static DimExpr Symbol(SymbolId id);
  // The single term `term`. Requires factors in the order of terms(); factors of power 0 are dropped.
  static DimExpr OfTerm(Term term);

  friend DimExpr operator+(const DimExpr& a, const DimExpr& b);
  friend DimExpr operator-(const DimExpr& a, const DimExpr& b);
  friend DimExpr operator*(const DimExpr& a, const DimExpr& b);
  static DimExpr FloorDiv(const DimExpr& a, const DimExpr& b);
  static DimExpr CeilDiv(const DimExpr& a, const DimExpr& b);  // floordiv(a + b - 1, b)
  static DimExpr Mod(const DimExpr& a, const DimExpr& b);
  static DimExpr Min(const DimExpr& a, const DimExpr& b);
  static DimExpr Max(const DimExpr& a, const DimExpr& b);
  static DimExpr Bcast(const DimExpr& a, const DimExpr& b);
  static DimExpr Make(AtomKind kind, const DimExpr& a, const DimExpr& b);  // `kind`: one of the five above

  // Further operations of exporters, expressed by those five. Operands are >= 0, divisors >= 1.
  static DimExpr TruncDiv(const DimExpr& a, const DimExpr& b);  // rounds towards 0
  static DimExpr TruncMod(const DimExpr& a, const DimExpr& b);  // remainder of TruncDiv; has the sign of a
  static DimExpr Less(const DimExpr& a, const DimExpr& b);      // 1 where a < b, else 0
  static DimExpr Equal(const DimExpr& a, const DimExpr& b);     // 1 where a == b, else 0
  // a where `condition` is 1, b where it is 0. Other values of `condition` are not supported.
  static DimExpr Select(const DimExpr& condition, const DimExpr& a, const DimExpr& b);

  // False if a coefficient overflowed int64, a constant divisor was <= 0, a bcast met two constants that can never
  // agree, or the expression exceeded a fixed size. Operations on an invalid expression are invalid. Graph::Append
  // rejects such dims.
  bool valid() const;
  // Why the expression is invalid: "a coefficient leaves 64 bits". Requires !valid().
  const char* problem() const;
  bool outgrown() const;  // whether the reason is its size
  std::optional<int64_t> constant() const;
  std::optional<SymbolId> symbol() const;  // set when the expression is exactly one symbol
  absl::Span<const Term> terms() const;

  // A total order on structure (not on values or addresses).
  static int Compare(const DimExpr& a, const DimExpr& b);
  friend bool operator==(const DimExpr& a, const DimExpr& b) { return a.poly_ == b.poly_; }
  friend bool operator<(const DimExpr& a, const DimExpr& b) { return Compare(a, b) < 0; }
  template <typename H>
  friend H AbslHashValue(H h, const DimExpr& e) {
    return H::combine(std::move(h), e.Hash());
  }

  // Rebuilds the expression with each symbol replaced; the result is canonical again.
  DimExpr Substitute(const std::function<DimExpr(SymbolId)>& replacement) const;
  // All symbols in the expression and in its atoms' operands, ascending, without repeats.
  std::vector<SymbolId> Symbols() const;
  // Value for the given symbols, indexed by id; nullopt on overflow or a divisor <= 0.
  std::optional<int64_t> Evaluate(absl::Span<const int64_t> symbols) const;

  // "4*B*S + floordiv(S, 2)"; `name` gives a symbol's name.
  std::string ToText(const std::function<std::string(SymbolId)>& name) const;

 private:
  struct Poly;
  struct Algebra;  // construction and folding, in dim_expr.cc
  explicit DimExpr(std::shared_ptr<const Poly> poly) : poly_(std::move(poly)) {}
  size_t Hash() const;
  std::shared_ptr<const Poly> poly_;
};

struct DimExpr::Atom {
  AtomKind kind;
  SymbolId symbol = -1;  // kSymbol only
  DimExpr lhs, rhs;      // other kinds
  size_t hash = 0;

  bool Same(const Atom& other) const {
    return kind == other.kind && symbol == other.symbol && lhs == other.lhs && rhs == other.rhs;
  }
};

// The term's factor if it has exactly one, of power 1, else nullptr. The coefficient is ignored.
const DimExpr::Atom* SingleFactor(const DimExpr::Term& term);

using Shape = std::vector<DimExpr>;

// The number of elements; 1 for a scalar.
DimExpr ElementCount(absl::Span<const DimExpr> shape);

}  // namespace tailor

#endif  // TAILOR_GRAPH_DIM_EXPR_H_
