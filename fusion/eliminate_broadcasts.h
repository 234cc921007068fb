// Rewrite: removes explicit broadcasts that an elementwise reader implies (BladeDISC 3.2).
#ifndef TAILOR_FUSION_ELIMINATE_BROADCASTS_H_
#define TAILOR_FUSION_ELIMINATE_BROADCASTS_H_

#include "absl/status/statusor.h"
#include "analysis/shape_facts.h"
#include "graph/graph.h"

namespace tailor {

// Preserves: values and the types of all readers.
absl::StatusOr<Graph> EliminateBroadcasts(const Graph& graph, const ShapeFacts& facts);

}  // namespace tailor

#endif  // TAILOR_FUSION_ELIMINATE_BROADCASTS_H_
