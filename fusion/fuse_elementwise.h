// Pass: elementwise, view and indexed nodes over one domain share a loop (DISC 4.3, BladeDISC 4.1).
#ifndef TAILOR_FUSION_FUSE_ELEMENTWISE_H_
#define TAILOR_FUSION_FUSE_ELEMENTWISE_H_

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "fusion/fusion_context.h"
#include "fusion/group_index.h"

namespace tailor {

// Requires: views absorbed. Preserves: plan validity, kinds other than kLoop. Loops that end in a view of a matmul's
// result are not merged into their readers.
absl::Status FuseElementwise(const FusionContext& context, FusionPlan& plan);

// Whether the loop ends in a view of a matmul's result that is no graph output and that loops read
// (fusion/absorb_views.h). It stays apart so that the matmul may take it.
bool IsDeferredForMatmul(const Graph& graph, const GroupIndex& index, int loop);

// Merges every loop for which `joins` is true into the loops that read it.
void JoinLoops(GroupIndex& index, absl::FunctionRef<bool(int)> joins);

}  // namespace tailor

#endif  // TAILOR_FUSION_FUSE_ELEMENTWISE_H_
