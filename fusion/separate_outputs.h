// Rewrite: every output becomes the result of a separate node, so that a kernel writes it.
#ifndef TAILOR_FUSION_SEPARATE_OUTPUTS_H_
#define TAILOR_FUSION_SEPARATE_OUTPUTS_H_

#include "absl/status/statusor.h"
#include "analysis/shape_facts.h"
#include "graph/graph.h"

namespace tailor {

// Preserves: values. Inputs, constants and values that are already an output are copied by an identity reshape.
absl::StatusOr<Graph> SeparateOutputs(const Graph& graph, const ShapeFacts& facts);

}  // namespace tailor

#endif  // TAILOR_FUSION_SEPARATE_OUTPUTS_H_
