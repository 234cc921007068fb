// Extents that only data tells (DISC section 4.2: fully dynamic shapes).
#ifndef TAILOR_FUSION_SPLIT_AT_DATA_H_
#define TAILOR_FUSION_SPLIT_AT_DATA_H_

#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace tailor {

// The stages of `graph`. Stage 0 knows all its extents from the graph's inputs. A stage with a `bind`, `while` or `if`
// that tells extents ends in a `rest` node: what needs these extents is in the stages behind, the next of which has the
// arguments of that node (RestTypes, graph/region_rules.h) and binds its extents by them like those of any input. No
// stage has a `bind`. Without extents told by data there is one stage, the graph itself. A loop or branch that tells
// extents of what no output needs is dropped, with all that speaks of them.
//
// Linear in the nodes, but that each stage hands on what it has of earlier ones for later ones.
absl::StatusOr<std::vector<Graph>> SplitAtData(const Graph& graph);

}  // namespace tailor

#endif  // TAILOR_FUSION_SPLIT_AT_DATA_H_
