// Rewrites of views: a transpose of a transpose becomes one transpose, a reshape of a reshape one reshape, a gather at
// an index that follows from dim sizes a slice, a reshape of a constant a constant with the same bytes; views and
// reductions that change nothing are removed.
#ifndef TAILOR_FUSION_SIMPLIFY_VIEWS_H_
#define TAILOR_FUSION_SIMPLIFY_VIEWS_H_

#include "absl/status/statusor.h"
#include "analysis/shape_facts.h"
#include "graph/graph.h"

namespace tailor {

// Preserves: values and types. The inner view stays, for its other users; RemoveDeadNodes drops it if there are none.
absl::StatusOr<Graph> ComposeViews(const Graph& graph, const ShapeFacts& facts);

// Preserves: values; types up to provable equality.
absl::StatusOr<Graph> RemoveIdentityViews(const Graph& graph, const ShapeFacts& facts);

// Preserves: values and types. Reshapes to symbolic dim sizes stay.
absl::StatusOr<Graph> ReshapeConstants(const Graph& graph, const ShapeFacts& facts);

}  // namespace tailor

#endif  // TAILOR_FUSION_SIMPLIFY_VIEWS_H_
