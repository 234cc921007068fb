// Rewrite: transposes of transposes and reshapes of reshapes become one view.
#ifndef TAILOR_FUSION_COMPOSE_VIEWS_H_
#define TAILOR_FUSION_COMPOSE_VIEWS_H_

#include "absl/status/statusor.h"
#include "analysis/shape_facts.h"
#include "graph/graph.h"

namespace tailor {

// Preserves: values and types. The inner view stays for its other users.
absl::StatusOr<Graph> ComposeViews(const Graph& graph, const ShapeFacts& facts);

}  // namespace tailor

#endif  // TAILOR_FUSION_COMPOSE_VIEWS_H_
