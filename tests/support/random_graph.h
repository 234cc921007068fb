// Random graphs whose dims are symbols, for tests that hold programs against the reference evaluator.
#ifndef TAILOR_TESTS_SUPPORT_RANDOM_GRAPH_H_
#define TAILOR_TESTS_SUPPORT_RANDOM_GRAPH_H_

#include <cstdint>

#include "graph/graph.h"

namespace tailor {

struct RandomGraphOptions {
  bool control = false;    // `while`, `if` and `bind` are among the ops
  bool attention = false;  // a few ops, then attention
};

// The same graph for the same seed and options. Two to five symbols (some with ranges, divisors, likely values), each
// the dim size of some input; ranks 0 to 4; every op; one to three outputs. There are symbol values at which all its
// shapes agree, mostly. Loops end after a few iterations. Constants hold what SeededConstant gives.
Graph RandomGraph(uint64_t seed, const RandomGraphOptions& options = {});

// Bytes for a constant, from its name and type alone: a graph's text says enough to make it again. Signature
// of a ConstantSource.
ConstantData SeededConstant(absl::string_view name, const TensorType& type);

}  // namespace tailor

#endif  // TAILOR_TESTS_SUPPORT_RANDOM_GRAPH_H_
