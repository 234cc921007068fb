// Bounds of a dim expression from its structure only. ShapeFacts adds the ranges of symbols.
#ifndef TAILOR_GRAPH_DIM_BOUNDS_H_
#define TAILOR_GRAPH_DIM_BOUNDS_H_

#include <cstdint>
#include <optional>

#include "graph/dim_expr.h"

namespace tailor {

// A lower bound of `e`, assuming that symbols are >= 0; nullopt if the structure gives none.
std::optional<int64_t> LowerBound(const DimExpr& e);

// e = (numerator + t) / denominator for some t in [low, high]; denominator > 0.
struct RelaxedDim {
  DimExpr numerator;
  int64_t denominator = 1, low = 0, high = 0;
};

// The rational relaxation of `e`: for constant k, floordiv(x, k) becomes (x - r) / k and mod(x, k) becomes r, with r in
// [0, k - 1]. Applies to terms of a single factor, nested ones included. nullopt if there is no such term, if there are
// more than 16, or on overflow. Each replacement is linear in the number of terms.
std::optional<RelaxedDim> Relaxed(const DimExpr& e);

// min <= a - b <= max for all symbol values, negative ones included. Example: floordiv(x + 1, 2) - floordiv(x, 2) lies
// in [0, 1].
struct DimBounds {
  int64_t min, max;
};
std::optional<DimBounds> BoundsOfDifference(const DimExpr& a, const DimExpr& b);

// Whether `b` has the form max(a, 1) or max(a - 1, 0) + 1: `a`, but 1 where `a` is 0. Then bcast(a, b) is a for all dim
// sizes.
bool IsAtLeastOne(const DimExpr& b, const DimExpr& a);

}  // namespace tailor

#endif  // TAILOR_GRAPH_DIM_BOUNDS_H_
