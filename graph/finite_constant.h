// Whether constants hold infinities or NaNs: where weights do, zeros that they are multiplied by count.
#ifndef TAILOR_GRAPH_FINITE_CONSTANT_H_
#define TAILOR_GRAPH_FINITE_CONSTANT_H_

#include "graph/graph.h"

namespace tailor {

// Whether `v` is a constant with an element that is infinite or NaN.
bool IsNonFiniteConstant(const Graph& graph, Value v);

// Whether `v` is a constant all of whose elements are numbers.
bool IsFiniteConstant(const Graph& graph, Value v);

}  // namespace tailor

#endif  // TAILOR_GRAPH_FINITE_CONSTANT_H_
