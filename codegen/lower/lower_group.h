// Lowers fusion groups to kernels.
#ifndef TAILOR_CODEGEN_LOWER_LOWER_GROUP_H_
#define TAILOR_CODEGEN_LOWER_LOWER_GROUP_H_

#include <vector>

#include "absl/status/statusor.h"
#include "analysis/shape_facts.h"
#include "codegen/lower/lowered_kernel.h"
#include "fusion/fusion_plan.h"
#include "graph/graph.h"

namespace tailor::lower {

struct LowerGroupOptions {
  bool in_place = false;           // a scatter updates the memory of its operand
  bool device_panels = false;      // TargetTraits::device_panels
  bool winograd = false;           // 3 x 3 convolutions may use codegen/cpu/conv/winograd.h
  bool stage_strided_lhs = true;   // TargetTraits::stage_strided_lhs
  bool packed_rhs = true;          // TargetTraits::packed_rhs
  int64_t most_rows_in_place = 0;  // TargetTraits::most_rows_in_place
  bool merge_rows = false;         // MergeRowsOfOneRhs (codegen/plan/plan_rewrites.h)
};
// Lowers one group.
absl::StatusOr<std::vector<LoweredKernel>> LowerGroup(const Graph& graph, const ShapeFacts& facts,
                                                      const FusionPlan& plan, int group, LowerGroupOptions options);
// Lowers a chain's groups to one attention plan. Errors: those of JoinAttention (codegen/lower/join_attention.h).
absl::StatusOr<LoweredKernel> LowerJoined(const Graph& graph, const ShapeFacts& facts, const FusionPlan& plan,
                                          const std::vector<int>& chain);
// A kernel that copies `from` to intermediate number `packed`.
LoweredKernel LowerCopy(const Graph& graph, const ShapeFacts& facts, Value from, int packed);

}  // namespace tailor::lower

#endif  // TAILOR_CODEGEN_LOWER_LOWER_GROUP_H_
