// Whether a compiler may refuse a random graph.
#ifndef TAILOR_TESTS_SUPPORT_MAY_REFUSE_H_
#define TAILOR_TESTS_SUPPORT_MAY_REFUSE_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "graph/graph.h"

namespace tailor {

// Whether `status` is right of `graph`: an INVALID_ARGUMENT where the reference evaluator refuses the graph at each of
// `shapes` (symbol values), with inputs drawn by `seed`. The compiler may know as much. So too of the shapes in a
// region that none of the runs enters.
bool MayRefuse(const Graph& graph, const absl::Status& status, const std::vector<std::vector<int64_t>>& shapes,
               uint64_t seed);
// The same at small shapes that are drawn as well.
bool MayRefuse(const Graph& graph, const absl::Status& status, uint64_t seed);

}  // namespace tailor

#endif  // TAILOR_TESTS_SUPPORT_MAY_REFUSE_H_
