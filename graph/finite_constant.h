// Tests constants for infinities and NaNs. A non-finite weight times a zero of the padding is NaN, so that padding
// cannot be skipped.
#ifndef TAILOR_GRAPH_FINITE_CONSTANT_H_
#define TAILOR_GRAPH_FINITE_CONSTANT_H_

#include "graph/graph.h"

namespace tailor {

// Whether `v` is a constant with an infinite or NaN element.
bool IsNonFiniteConstant(const Graph& graph, Value v);

// Whether `v` is a constant without infinite or NaN elements.
bool IsFiniteConstant(const Graph& graph, Value v);

}  // namespace tailor

#endif  // TAILOR_GRAPH_FINITE_CONSTANT_H_
