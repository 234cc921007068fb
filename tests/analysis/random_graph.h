// Small random graphs over symbolic inputs, for property tests of facts.
#ifndef TAILOR_TESTS_ANALYSIS_RANDOM_GRAPH_H_
#define TAILOR_TESTS_ANALYSIS_RANDOM_GRAPH_H_

#include <random>

#include "graph/graph.h"

namespace tailor {

// Three symbols with small random ranges and divisors, three f32 inputs over them, a few ops, sometimes an assumed
// equality. Every symbol is the dim of some input.
Graph RandomGraph(std::mt19937& random);

}  // namespace tailor

#endif  // TAILOR_TESTS_ANALYSIS_RANDOM_GRAPH_H_
