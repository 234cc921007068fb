// One graph, compiled once, run at several shapes and held against the reference evaluator.
#ifndef TAILOR_TESTS_FUZZ_CHECK_GRAPH_H_
#define TAILOR_TESTS_FUZZ_CHECK_GRAPH_H_

#include <cstdint>
#include <string>

#include "graph/graph.h"
#include "tests/support/device.h"

namespace tailor {

struct CheckResult {
  // Empty, or what went wrong: "kind: details", where the kind names the check and the status code, if any.
  std::string failure;
  int shapes = 0;        // at which results were compared
  int refusals = 0;      // wrong shapes that were refused, as they must be
  int64_t compared = 0;  // elements
  int64_t unknown = 0;   // elements of which the reference knows nothing
  std::string Kind() const { return failure.substr(0, failure.find(':')); }
};

// Checks, at four shapes drawn with `seed`: the dims and values of every output; that several threads, other memory
// and other alignment give the same bits, but for those of a NaN; that nothing beside outputs is written; that gather
// indices out of range are reported. At shapes that do not agree, be it before the run or in the middle: that the run
// is refused with INVALID_ARGUMENT.
CheckResult CheckGraph(const Graph& graph, const TestDevice& device, uint64_t seed);

// The same in a process of its own, where a crash is a failure like any other.
CheckResult CheckGraphInChild(const Graph& graph, const TestDevice& device, uint64_t seed);

}  // namespace tailor

#endif  // TAILOR_TESTS_FUZZ_CHECK_GRAPH_H_
