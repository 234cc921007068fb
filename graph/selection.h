// Builder of the first few elements in sort order: one `while`, whose body finds the element after the last one found.
#ifndef TAILOR_GRAPH_SELECTION_H_
#define TAILOR_GRAPH_SELECTION_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "graph/sorting.h"

namespace tailor {

// Largest count for selection. Each element costs two sweeps over x; beyond this count the threshold
// (graph/threshold.h) is cheaper.
constexpr int64_t kMostSelected = 16;

// The first `count` elements along the last axis of x [..., N], any dtype: [..., count], as TopK returns them.
absl::StatusOr<Sorted> SelectFirst(Graph& graph, Value x, int64_t count, bool largest);

}  // namespace tailor

#endif  // TAILOR_GRAPH_SELECTION_H_
