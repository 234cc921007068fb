// Orders the nodes of a row group into stages (AStitch section 3: hierarchical stitching). A reduction depends on
// earlier ones only through their per-row results, so each value has a level: the number of reductions before it. Level
// k runs as stage k.
#ifndef TAILOR_CODEGEN_LOWER_ROW_STAGES_H_
#define TAILOR_CODEGEN_LOWER_ROW_STAGES_H_

#include <map>
#include <set>
#include <vector>

#include "analysis/shape_facts.h"
#include "fusion/fusion_plan.h"
#include "graph/graph.h"

namespace tailor::lower {

struct RowStages {
  std::map<NodeId, int> level;          // per node of the group: the first stage that can compute it
  std::vector<NodeId> reductions;       // topological
  std::set<NodeId> kept;                // computed once and kept in a row buffer (or output) for later stages
  std::map<NodeId, NodeId> kept_views;  // views whose elements are gathered, the same; with a reduction that reads them
  int count = 0;                        // number of stages
};

RowStages PlanRowStages(const Graph& graph, const ShapeFacts& facts, const FusionGroup& group);

}  // namespace tailor::lower

#endif  // TAILOR_CODEGEN_LOWER_ROW_STAGES_H_
