// Bounds of an extent from its structure alone. What ranges of symbols add is the business of ShapeFacts.
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

// `e` with rational arithmetic for its terms c * floordiv(x, k) and c * mod(x, k), k a constant, and those inside them:
// floordiv(x, k) is (x - r) / k for an r in [0, k - 1], which is what mod(x, k) is. nullopt where there is no such
// term, there are too many, or a number leaves 64 bits. Linear in the terms for each term that is replaced, of which
// there are at most 16.
std::optional<RelaxedDim> Relaxed(const DimExpr& e);

// min <= a - b <= max whatever the symbols are, negative or not; nullopt where the structures do not tell.
// floordiv(x + 1, 2) - floordiv(x, 2) lies in [0, 1].
struct DimBounds {
  int64_t min, max;
};
std::optional<DimBounds> BoundsOfDifference(const DimExpr& a, const DimExpr& b);

}  // namespace tailor

#endif  // TAILOR_GRAPH_DIM_BOUNDS_H_
