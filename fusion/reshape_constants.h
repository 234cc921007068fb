// Rewrite: a reshape of a constant becomes a constant with the same bytes.
#ifndef TAILOR_FUSION_RESHAPE_CONSTANTS_H_
#define TAILOR_FUSION_RESHAPE_CONSTANTS_H_

#include "absl/status/statusor.h"
#include "analysis/shape_facts.h"
#include "graph/graph.h"

namespace tailor {

// Preserves: values and types. Reshapes to symbolic dim sizes stay.
absl::StatusOr<Graph> ReshapeConstants(const Graph& graph, const ShapeFacts& facts);

}  // namespace tailor

#endif  // TAILOR_FUSION_RESHAPE_CONSTANTS_H_
