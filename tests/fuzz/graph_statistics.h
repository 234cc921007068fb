// How values are shared in a graph: what random graphs must have in common with models.
#ifndef TAILOR_TESTS_FUZZ_GRAPH_STATISTICS_H_
#define TAILOR_TESTS_FUZZ_GRAPH_STATISTICS_H_

#include <cstdint>
#include <string>

#include "graph/graph.h"

namespace tailor {

// Sums over graphs, of what their outputs need; regions count as graphs of their own for all but `graphs` and
// `outputs`.
struct GraphStatistics {
  int64_t graphs = 0, outputs = 0;
  int64_t values = 0, uses = 0;                 // computed values and inputs that are read, without constants
  int64_t shared_values = 0;                    // read by two nodes or more
  int64_t nodes = 0, seen_before = 0;           // computed nodes; those with an operand that an earlier node reads
  int64_t links = 0;                            // nodes that are the only reader of their only computed operand: chains
  int64_t constants = 0, shared_constants = 0;  // of rank 1 or more
  int64_t matmuls = 0;                          // by constants
  int64_t sharing_matmuls = 0;                  // ... whose left operand another one has too

  void Add(const Graph& graph);
  // One line under Header().
  std::string Row(const std::string& name) const;
  static std::string Header();
};

}  // namespace tailor

#endif  // TAILOR_TESTS_FUZZ_GRAPH_STATISTICS_H_
