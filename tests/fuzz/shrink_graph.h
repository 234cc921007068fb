// Makes a failing graph small.
#ifndef TAILOR_TESTS_FUZZ_SHRINK_GRAPH_H_
#define TAILOR_TESTS_FUZZ_SHRINK_GRAPH_H_

#include <functional>

#include "graph/graph.h"

namespace tailor {

// Drops outputs, turns nodes into inputs or into one of their operands, moves outputs towards inputs, and makes regions
// smaller, as long as `fails` holds of the result and for at most `attempts` tries. `fails` holds of `graph`.
Graph ShrinkGraph(const Graph& graph, int attempts, const std::function<bool(const Graph&)>& fails);

}  // namespace tailor

#endif  // TAILOR_TESTS_FUZZ_SHRINK_GRAPH_H_
