// The tests' own evaluator of graphs: plain loops over concrete arrays, one node after the other. From the product
// it takes the graph's structure alone; shape rules, scalar semantics and number formats are its own.
#ifndef TAILOR_TESTS_SUPPORT_REFERENCE_EVALUATOR_H_
#define TAILOR_TESTS_SUPPORT_REFERENCE_EVALUATOR_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "tests/support/reference_array.h"

namespace tailor::reference {

struct Evaluation {
  std::vector<Array> outputs;
  // Gathers that met an index out of range, or one that is not known. A program that computes such an element fails;
  // one that needs it for no output may pass. Here it is an unknown element.
  std::vector<std::string> faults;
};

// Evaluates what the outputs need. `symbols` by SymbolId, `inputs` in the graph's order, with the dims that the
// symbols give. Fails as GraphDims does.
absl::StatusOr<Evaluation> Evaluate(const Graph& graph, const std::vector<int64_t>& symbols,
                                    const std::vector<Array>& inputs);

}  // namespace tailor::reference

#endif  // TAILOR_TESTS_SUPPORT_REFERENCE_EVALUATOR_H_
