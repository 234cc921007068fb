// Extents that only data tells (DISC section 4.2: fully dynamic shapes).
#ifndef TAILOR_FUSION_SPLIT_AT_DATA_H_
#define TAILOR_FUSION_SPLIT_AT_DATA_H_

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace tailor {

// Moves everything that needs an extent told by a `bind`, `while` or `if` into the region of a `rest` node at the end,
// which runs once the extents are known and binds them like those of any input. What is left knows all its extents
// from its inputs. Without such extents the graph stays as it is. Region and graph have no `bind` in common: where the
// region's extents are told by data in turn, it is split when its own turn comes. A loop or branch that tells extents
// of what no output needs is dropped, with all that speaks of them.
absl::StatusOr<Graph> SplitAtData(const Graph& graph);

}  // namespace tailor

#endif  // TAILOR_FUSION_SPLIT_AT_DATA_H_
