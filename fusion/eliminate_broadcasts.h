// Rewrite: explicit broadcasts that an elementwise reader implies go (BladeDISC 3.2).
#ifndef TAILOR_FUSION_ELIMINATE_BROADCASTS_H_
#define TAILOR_FUSION_ELIMINATE_BROADCASTS_H_

#include "absl/status/statusor.h"
#include "analysis/shape_facts.h"
#include "graph/graph.h"

namespace tailor {

// Preserves: values and every reader's type.
absl::StatusOr<Graph> EliminateBroadcasts(const Graph& graph, const ShapeFacts& facts);

}  // namespace tailor

#endif  // TAILOR_FUSION_ELIMINATE_BROADCASTS_H_
