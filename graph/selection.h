// Builder of the first few elements in sort order: a `while`, whose body finds the element after the last one found.
// Long rows, and rows of unknown length, are selected from in two levels: first blocks, by their best element, then
// elements of these blocks. One element takes no loop.
#ifndef TAILOR_GRAPH_SELECTION_H_
#define TAILOR_GRAPH_SELECTION_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace tailor {

// Largest count for selection; beyond it the threshold (graph/threshold.h). On Zen 4 selecting 50 takes half the
// threshold's time in 50,000 elements, 1.1 times in 256 rows of 2,000.
constexpr int64_t kMostSelected = 64;

// The indices of the first `count` elements in the order of graph/sorting.h along the last axis of x [..., N], any
// dtype: [..., count] of type IndexType(N), in this order. Every run checks count <= N. In one level, two sweeps over x
// for each element found; in two, one sweep over x, then two over N / 16 + 16 * count elements for each element found.
absl::StatusOr<Value> SelectFirst(Graph& graph, Value x, int64_t count, bool largest);

}  // namespace tailor

#endif  // TAILOR_GRAPH_SELECTION_H_
