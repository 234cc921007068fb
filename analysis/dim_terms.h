// Takes a DimExpr apart into terms, and builds one from terms.
#ifndef TAILOR_ANALYSIS_DIM_TERMS_H_
#define TAILOR_ANALYSIS_DIM_TERMS_H_

#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "graph/dim_expr.h"

namespace tailor {

// coefficient * symbol + offset
struct LinearDim {
  SymbolId symbol;
  int64_t coefficient;
  int64_t offset;
};

// Set if `e` has exactly this form; the coefficient may be negative but not 0.
std::optional<LinearDim> AsLinear(const DimExpr& e);

DimExpr AtomDim(const DimExpr::Atom& atom);
DimExpr ProductDim(int64_t coefficient, absl::Span<const DimExpr::Factor> factors);
DimExpr TermDim(const DimExpr::Term& term);

int64_t ConstantTerm(const DimExpr& e);

// `e` without its constant term and with a positive leading coefficient: the key shared by all expressions that differ
// from `e` or -e by a constant.
DimExpr Direction(const DimExpr& e);

// a / b, if exact.
std::optional<DimExpr> DivideTerm(const DimExpr::Term& a, const DimExpr::Term& b);

// e / divisor. Requires every coefficient to be a multiple of `divisor`.
DimExpr DivideCoefficients(const DimExpr& e, int64_t divisor);

// The operands of nested atoms of one kind: bcast(bcast(a, b), c) -> a, b, c. {e} if `e` is not such an atom.
std::vector<DimExpr> LeavesOf(DimExpr::AtomKind kind, const DimExpr& e);

bool Mentions(const DimExpr& e, SymbolId symbol);

}  // namespace tailor

#endif  // TAILOR_ANALYSIS_DIM_TERMS_H_
