// A lower bound of an extent from its structure alone: symbols are never negative. What ranges of symbols add is
// the business of ShapeFacts.
#ifndef TAILOR_GRAPH_DIM_BOUNDS_H_
#define TAILOR_GRAPH_DIM_BOUNDS_H_

#include <cstdint>
#include <optional>

#include "graph/dim_expr.h"

namespace tailor {

// `e` is never less; nullopt where its structure does not tell.
std::optional<int64_t> LeastValue(const DimExpr& e);

}  // namespace tailor

#endif  // TAILOR_GRAPH_DIM_BOUNDS_H_
