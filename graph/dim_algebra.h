// DimExpr's construction and folding, private to dim_expr.cc and dim_algebra.cc.
#ifndef TAILOR_GRAPH_DIM_ALGEBRA_H_
#define TAILOR_GRAPH_DIM_ALGEBRA_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "graph/dim_expr.h"

namespace tailor {

// Immutable. `size` is the node count of the expression written as a tree; for valid expressions kMaxSize bounds it,
// and with it every recursive walk.
struct DimExpr::Poly {
  bool valid = true;
  const char* problem = nullptr;  // set if not valid
  std::vector<Term> terms;
  size_t size = 0;
  size_t hash = 0;

  bool Same(const Poly& other) const;
};

struct DimExpr::Algebra {
  static constexpr size_t kMaxSize = 1024;

  enum class Problem : uint8_t { kOverflow, kDivisor, kBroadcast, kSize };
  static DimExpr Invalid(Problem problem);
  // Requires canonical `terms`.
  static std::shared_ptr<const Poly> MakePoly(std::vector<Term> terms);
  static DimExpr FromCanonical(std::vector<Term> terms);
  // Sorts and combines `terms`, whose factor lists are canonical.
  static DimExpr FromTerms(std::vector<Term> terms);
  static DimExpr Combined(std::vector<Term> terms);  // FromTerms without EliminateMods()
  // Rewrites mod(x, k), k a constant, to x - k * floordiv(x, k) if that makes the sum smaller:
  // x + mod(-x, k) = k * floordiv(x + k - 1, k); x - mod(x, k) = k * floordiv(x, k).
  static DimExpr EliminateMods(const DimExpr& sum);
  // `sum` with its `term` c * mod(x, k) rewritten to c * (s * x - k * floordiv(s * x, k)) for a sign s.
  static DimExpr WithoutRemainder(const DimExpr& sum, const Term& term, int64_t sign);
  static DimExpr Scaled(const DimExpr& e, int64_t factor);  // factor != 0
  static DimExpr Opaque(AtomKind kind, const DimExpr& lhs, const DimExpr& rhs);
  static std::shared_ptr<const Atom> MakeAtom(AtomKind kind, SymbolId symbol, const DimExpr& lhs, const DimExpr& rhs);

  // The atom if `e` is exactly one atom of this kind, else nullptr.
  static const Atom* SingleAtom(const DimExpr& e, AtomKind kind);
  static int64_t ConstantTerm(const DimExpr& e);

  // With `folds`, drops leaves of min and max whose quotient is provably dominated by another leaf's quotient.
  static DimExpr FloorDivByConstant(const DimExpr& a, int64_t divisor, bool folds = true);
  // `a` without the leaves of its term c * max(x, y, ...) (or min) whose quotient by `divisor` is dominated, because
  // floordiv(c * max(x, y) + z, k) = max(floordiv(c * x + z, k), floordiv(c * y + z, k)). nullopt if no leaf can go.
  static std::optional<DimExpr> DropDominatedLeaves(const DimExpr& a, const Term& term, int64_t divisor);
  static DimExpr WithoutInnerRemainders(const DimExpr& a, int64_t divisor);
  static DimExpr ModByConstant(const DimExpr& a, int64_t divisor);
  // a = quotient * b + rest for a symbolic b. A single-term b is divided out of every term it divides; a longer b
  // divides only exactly.
  static std::pair<DimExpr, DimExpr> DivideBySymbolic(const DimExpr& a, const DimExpr& b);
  // `kind` is min, max or bcast.
  static DimExpr Commutative(AtomKind kind, const DimExpr& a, const DimExpr& b);

 private:
  // a = divisor * quotient + gcd * rest + low with 0 <= low < gcd and divisor = gcd * reduced; the constant term of
  // `rest` lies in [0, reduced).
  struct Division {
    DimExpr quotient, rest;
    int64_t gcd, reduced, low;
  };
  static Division DivideByConstant(const DimExpr& a, int64_t divisor);

  static void AppendLeaves(AtomKind kind, const DimExpr& e, std::vector<DimExpr>* leaves);
  // A constant leaf other than 1 is the result; two such leaves make the expression invalid. `leaves` has no repeats.
  static DimExpr FoldedBcast(std::vector<DimExpr> leaves);
  // Drops each leaf that another one provably dominates. `leaves` is sorted.
  static DimExpr FoldedMinMax(AtomKind kind, std::vector<DimExpr> leaves);
  static DimExpr NestLeft(AtomKind kind, absl::Span<const DimExpr> leaves);
};

// Orders monomials: higher degrees first, the constant last; coefficients are ignored.
int CompareMonomials(const DimExpr::Term& a, const DimExpr::Term& b);
std::vector<DimExpr::Factor> MultiplyFactors(const std::vector<DimExpr::Factor>& a,
                                             const std::vector<DimExpr::Factor>& b);

// Round towards minus infinity; b > 0.
inline int64_t FloorDivInt(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }
inline int64_t FloorModInt(int64_t a, int64_t b) { return a % b + (a % b < 0 ? b : 0); }

}  // namespace tailor

#endif  // TAILOR_GRAPH_DIM_ALGEBRA_H_
