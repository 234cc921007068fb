#include "codegen/lower/keep_joined_chains.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/lower/lower_group.h"
#include "codegen/lower/lowered_kernel.h"
#include "codegen/plan/attention.h"
#include "graph/dump.h"

namespace tailor::lower {
namespace {

// The reason why kernels for `traits` do not support `plan`; empty if they do.
std::string ObstacleOf(const KernelPlan& plan, const TargetTraits& traits) {
  const Attention attention = AttentionOf(plan);
  for (int axis : {attention.d, attention.v}) {
    const DimSize& dim_size = plan.axes[axis].dim_size;
    if (!dim_size.is_constant()) return "the dim size of the factors' rows is not known at compile time";
    if (dim_size.constant == 0) return "the factors' rows have no elements";
    if (dim_size.constant > traits.max_attention_row) {
      return absl::StrCat("the factors' rows have ", dim_size.constant, " elements, more than ",
                          traits.max_attention_row);
    }
  }
  return "";
}

// The reason why `chain` cannot be one kernel; empty if it can.
absl::StatusOr<std::string> ObstacleOf(const Graph& graph, const ShapeFacts& facts, const TargetTraits& traits,
                                       const FusionPlan& plan, const std::vector<int>& chain) {
  const absl::StatusOr<LoweredKernel> joined = LowerJoined(graph, facts, plan, chain);
  if (joined.ok()) return ObstacleOf(joined->plan, traits);
  if (joined.status().code() != absl::StatusCode::kFailedPrecondition) return joined.status();
  return std::string(joined.status().message());
}

}  // namespace

absl::Status KeepJoinedChains(int number, const Graph& graph, const ShapeFacts& facts, const TargetTraits& traits,
                              FusionPlan& plan) {
  std::vector<std::vector<int>> kept;
  for (std::vector<int>& chain : plan.chains) {
    const absl::StatusOr<std::string> obstacle = ObstacleOf(graph, facts, traits, plan, chain);
    if (!obstacle.ok()) return obstacle.status();
    if (obstacle->empty()) {
      kept.push_back(std::move(chain));
      continue;
    }
    for (size_t i = 0; i + 1 < chain.size(); ++i) {
      const NodeId made = plan.groups[chain[i]].outputs[0].node;
      plan.refusals.push_back({made, plan.groups[chain[i + 1]].dominant, "join-chains", *obstacle});
    }
  }
  plan.chains = std::move(kept);
  return DumpWanted() ? DumpPass("joined", number, "chains", plan.ToText(graph)) : absl::OkStatus();
}

}  // namespace tailor::lower
