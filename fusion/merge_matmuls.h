// Rewrite: matmuls that share their left operand become one (BladeDISC 4.3, dot merging).
#ifndef TAILOR_FUSION_MERGE_MATMULS_H_
#define TAILOR_FUSION_MERGE_MATMULS_H_

#include "absl/status/statusor.h"
#include "analysis/shape_facts.h"
#include "fusion/fusion_context.h"
#include "graph/graph.h"

namespace tailor {

// Requires: equal nodes are one. Preserves: values bit for bit. The right operands, constants, are joined here, and so
// are the constants of the elementwise ops that follow; what read a matmul reads a slice of the joined result.
absl::StatusOr<Graph> MergeMatmuls(const Graph& graph, const ShapeFacts& facts);

// Pass: records why matmuls that share their left operand stayed apart. Preserves: the groups.
absl::Status ExplainMatmuls(const FusionContext& context, FusionPlan& plan);

}  // namespace tailor

#endif  // TAILOR_FUSION_MERGE_MATMULS_H_
