// Bounds of a dim size from its structure alone. What ranges of symbols add is the business of ShapeFacts.
#ifndef TAILOR_GRAPH_DIM_BOUNDS_H_
#define TAILOR_GRAPH_DIM_BOUNDS_H_

#include <cstdint>
#include <optional>

#include "graph/dim_expr.h"

namespace tailor {

// `e` is never less, where no symbol is negative; nullopt where its structure does not tell.
std::optional<int64_t> LeastValue(const DimExpr& e);

// e = (numerator + t) / denominator for a t in [low, high], denominator > 0.
struct RelaxedDim {
  DimExpr numerator;
  int64_t denominator = 1, low = 0, high = 0;
};

// The rational relaxation of `e`: floordiv(x, k) becomes (x - r) / k and mod(x, k) becomes r, r in [0, k - 1], for
// constant k, in terms of a single factor, nested ones included. nullopt if there is no such term, if there are more
// than 16, or on overflow. Linear in the terms per replaced term.
std::optional<RelaxedDim> Relaxed(const DimExpr& e);

// min <= a - b <= max whatever the symbols are, negative or not; nullopt where the structures do not tell.
// floordiv(x + 1, 2) - floordiv(x, 2) lies in [0, 1].
struct DimBounds {
  int64_t min, max;
};
std::optional<DimBounds> BoundsOfDifference(const DimExpr& a, const DimExpr& b);

// Whether `b` is written as `a`, but 1 where that is 0: max(a, 1), or max(a - 1, 0) + 1. Then bcast(a, b) is a, at all
// dim sizes.
bool IsAtLeastOne(const DimExpr& b, const DimExpr& a);

}  // namespace tailor

#endif  // TAILOR_GRAPH_DIM_BOUNDS_H_
