// Rewrite: matmuls that share their lhs become one (BladeDISC 4.3, dot merging).
#ifndef TAILOR_FUSION_MERGE_MATMULS_H_
#define TAILOR_FUSION_MERGE_MATMULS_H_

#include "absl/status/statusor.h"
#include "analysis/shape_facts.h"
#include "fusion/fusion_context.h"
#include "graph/graph.h"

namespace tailor {

// Requires: MergeEqualNodes has run. Preserves: values bit for bit. Concatenates the constant rhs, and the constants of
// the elementwise ops that follow. Readers of a merged matmul read a slice of the result.
absl::StatusOr<Graph> MergeMatmuls(const Graph& graph, const ShapeFacts& facts);

// Pass: records why matmuls that share their lhs were not merged. Preserves: the groups.
absl::Status ExplainMatmuls(const FusionContext& context, FusionPlan& plan);

}  // namespace tailor

#endif  // TAILOR_FUSION_MERGE_MATMULS_H_
