// Concrete symbol values and inputs at which a graph's program is run against the reference evaluator.
#ifndef TAILOR_TESTS_SUPPORT_RANDOM_GRAPH_INPUTS_H_
#define TAILOR_TESTS_SUPPORT_RANDOM_GRAPH_INPUTS_H_

#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "graph/graph.h"
#include "tests/support/reference_array.h"

namespace tailor {

enum class ShapeKind {
  kSmall,     // any small dim sizes, many of them alike
  kWithOne,   // some symbol is 1
  kWithZero,  // some symbol is 0
  kWide,      // dim sizes around vector and tile widths, likely values
  kLarge,     // some dim sizes of hundreds and thousands
};

// Symbol values of that kind at which the reference accepts all shapes of `graph` that can be told before a run, and
// its work is small; nullopt if many draws found none. Symbols that only a run says are unbound.
std::optional<std::vector<int64_t>> DrawSymbols(const Graph& graph, ShapeKind kind, std::mt19937_64& random);

// Values of one input or constant: mostly of magnitude 2 and less, some integers, some zeros.
reference::Array DrawArray(DType dtype, std::vector<int64_t> dims, uint64_t seed);

// All inputs, in the graph's order. Those that a gather takes as indices stay in range where the table has entries.
// `special`: floats may be infinite, NaN, huge or tiny.
std::vector<reference::Array> DrawInputs(const Graph& graph, const std::vector<int64_t>& symbols, uint64_t seed,
                                         bool special);

}  // namespace tailor

#endif  // TAILOR_TESTS_SUPPORT_RANDOM_GRAPH_INPUTS_H_
