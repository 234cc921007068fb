// Builder of the first few elements in order: one `while`, whose body finds the element after the last one found.
#ifndef TAILOR_GRAPH_SELECTION_H_
#define TAILOR_GRAPH_SELECTION_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "graph/sorting.h"

namespace tailor {

// Two sweeps over x for each element that is found: up to this many, that is less than sorting takes.
constexpr int64_t kMostSelected = 128;

// The `count` first elements along the last axis of x [..., N], of any type: [..., count], as TopK gives them.
absl::StatusOr<Sorted> SelectFirst(Graph& graph, Value x, int64_t count, bool largest);

}  // namespace tailor

#endif  // TAILOR_GRAPH_SELECTION_H_
