// The tests' own evaluator of graphs: plain loops over concrete arrays, node by node. From the compiler
// it takes only the graph's structure; shape rules, scalar semantics, number formats and the binding of symbols are its
// own.
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
  // Not empty: what keeps the reference from telling the outputs, which are then none: an unknown element that a
  // condition or a dim size needs.
  std::string undecided;
  std::vector<const Graph*> entered;  // regions
};

// Evaluates what the outputs need. `symbols` by SymbolId, those that only the run says are kUnbound; `inputs` in the
// graph's order, with the dims that the symbols give. Fails as GraphDims does, also where that shows in the middle of
// the run; with INTERNAL where a loop does not come to an end, and with RESOURCE_EXHAUSTED where it takes too much
// work. FAILED_PRECONDITION too where loops, branches or binds that no output needs fail or are undecided: a program
// may leave them out.
absl::StatusOr<Evaluation> Evaluate(const Graph& graph, const std::vector<int64_t>& symbols,
                                    const std::vector<Array>& inputs);

}  // namespace tailor::reference

#endif  // TAILOR_TESTS_SUPPORT_REFERENCE_EVALUATOR_H_
