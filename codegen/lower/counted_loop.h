// Loops that the host counts (DISC section 4.2.2: shape computations are placed on the host). No kernel computes what
// decides, so a device's run need not wait for it.
#ifndef TAILOR_CODEGEN_LOWER_COUNTED_LOOP_H_
#define TAILOR_CODEGEN_LOWER_COUNTED_LOOP_H_

#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "analysis/known_values.h"
#include "analysis/shape_facts.h"
#include "codegen/host/host_program.h"
#include "graph/graph.h"

namespace tailor::lower {

// A loop whose condition follows from its counters, which are never negative. Expressions are over symbols of the graph
// around it and over those of counters.
struct CountedLoop {
  std::vector<host::Counter> counters;
  DimExpr goes_on;  // 1 as long as there is another iteration, else 0
  // A counter's argument, and a dim size of the body (over its symbols) that is larger in each iteration.
  std::vector<std::pair<int, DimExpr>> below;
};

// Loop `id` as a counted loop, if it is one. `around` has the values of `graph`; counters get symbols from `first`.
std::optional<CountedLoop> CountLoop(const Graph& graph, const ShapeFacts& facts, const KnownValues& around, NodeId id,
                                     SymbolId first);

// What the body of a counted loop is made from.
struct CountedArguments {
  std::vector<int> numbers;                    // input numbers of the counters
  std::vector<std::pair<int, DimExpr>> below;  // as in CountedLoop
  std::vector<bool> is_read;                   // by result of the loop, counter or not
};

// The loop's body with each counter replaced by a u8[symbol] without data: the counter is that argument's dim size.
// Where the loop's result of that number is not read, the body returns the argument itself instead of the next value.
absl::StatusOr<Graph> CountedBody(const Graph& body, const CountedArguments& counted);

}  // namespace tailor::lower

#endif  // TAILOR_CODEGEN_LOWER_COUNTED_LOOP_H_
