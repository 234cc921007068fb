#include "codegen/plan/long_tasks.h"

#include <algorithm>

#include "codegen/plan/contraction.h"
#include "codegen/plan/plan_queries.h"

namespace tailor {
namespace {

// Some ten microseconds of a scan; a millisecond of updates that miss the caches.
constexpr int64_t kSteps = 1 << 14;

// 0.4 Gflop in the largest task of a matmul, 96 rows by 256 columns: four milliseconds at 100 Gflop/s.
constexpr int64_t kDepth = 1 << 13;

}  // namespace

std::optional<PollPoint> PollPointOf(const KernelPlan& plan, const Stage& stage) {
  int64_t inner = 1;  // iterations of the loops inside
  for (auto axis = stage.axes.rbegin(); axis != stage.axes.rend(); ++axis) {
    const int64_t most = MaxOf(plan, plan.axes[*axis].dim_size);
    if (plan.axes[*axis].role == AxisRole::kOrdered && most > kSteps / inner) {
      return PollPoint{*axis, std::max<int64_t>(kSteps / inner, 1)};
    }
    inner = std::min(kSteps, inner * std::clamp<int64_t>(most, 1, kSteps));
  }
  return std::nullopt;
}

bool PollsOnHost(const KernelPlan& plan, const Schedule& schedule) {
  if (plan.IsChain()) {
    for (size_t i = 0; i < plan.links().size(); ++i) {
      if (PollsOnHost(plan.links()[i].plan, schedule.links[i])) return true;
    }
    return false;
  }
  if (plan.IsContraction()) {
    return schedule.tile.winograd_tiles == 0 && MaxOf(plan, plan.axes[ContractionOf(plan).k].dim_size) > kDepth;
  }
  return std::any_of(plan.stages.begin(), plan.stages.end(),
                     [&](const Stage& stage) { return PollPointOf(plan, stage).has_value(); });
}

}  // namespace tailor
