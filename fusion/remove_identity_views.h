// Rewrite: removes views that change nothing.
#ifndef TAILOR_FUSION_REMOVE_IDENTITY_VIEWS_H_
#define TAILOR_FUSION_REMOVE_IDENTITY_VIEWS_H_

#include "absl/status/statusor.h"
#include "analysis/shape_facts.h"
#include "graph/graph.h"

namespace tailor {

// Preserves: values; types up to provable equality.
absl::StatusOr<Graph> RemoveIdentityViews(const Graph& graph, const ShapeFacts& facts);

}  // namespace tailor

#endif  // TAILOR_FUSION_REMOVE_IDENTITY_VIEWS_H_
