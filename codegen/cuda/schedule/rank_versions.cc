#include "codegen/cuda/schedule/rank_versions.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "absl/strings/str_cat.h"
#include "codegen/plan/contraction.h"

namespace tailor::cuda {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr int64_t kProcessors[] = {46, 82, 108, 132};

// Dim sizes at which versions are compared: powers of two up to the largest of the slot, fewer for each of many slots.
std::vector<int64_t> SizesOf(const KernelPlan& plan, int32_t slot, size_t slots) {
  int64_t most = int64_t{1} << 14;
  for (const Axis& axis : plan.axes) {
    if (axis.dim_size.is_constant() || axis.dim_size.slot != slot) continue;
    most = std::min(most, RangeOfDimSize(plan, axis.dim_size).max);
  }
  const int64_t step = slots == 1 ? 2 : slots == 2 ? 4 : 8;
  std::vector<int64_t> sizes;
  for (int64_t size = 32; size <= most; size *= step) sizes.push_back(size);
  if (sizes.empty()) sizes.push_back(std::max<int64_t>(most, 1));
  return sizes;
}

// The logarithms of a version's clocks at each combination of sizes and processors.
void AppendCosts(const SlotExpr& clocks, std::vector<std::pair<int32_t, std::vector<int64_t>>> slots,
                 std::vector<double>& costs) {
  if (slots.empty()) {
    for (int64_t processors : kProcessors) {
      const auto count = clocks.WithWorkers(processors).constant();
      costs.push_back(count && *count > 0 ? std::log(static_cast<double>(*count)) : kNever);
    }
    return;
  }
  const auto [slot, sizes] = std::move(slots.back());
  slots.pop_back();
  for (int64_t size : sizes) AppendCosts(clocks.WithSlot(slot, size), slots, costs);
}

// The cost of the cheapest version other than `without`, summed over the columns of `costs`. Guards rarely fail: the
// sum over versions without guards counts an eighth.
double Total(const CudaSchedule& schedule, const std::vector<std::vector<double>>& costs, size_t without) {
  constexpr double kShareOfFailingGuards = 0.125;
  double total = 0;
  for (bool guarded : {true, false}) {
    for (size_t column = 0; column < costs.back().size(); ++column) {
      double least = kNever;
      for (size_t v = 0; v < costs.size(); ++v) {
        if (v == without || costs[v].empty()) continue;
        if (guarded || schedule.versions[v].version.guards.empty()) least = std::min(least, costs[v][column]);
      }
      total += guarded ? least : kShareOfFailingGuards * least;
    }
  }
  return total;
}

}  // namespace

void DropByClocks(const KernelPlan& plan, size_t most, CudaSchedule& schedule, std::vector<std::string>& dropped) {
  std::vector<CudaVersion>& versions = schedule.versions;
  if (versions.size() <= most || versions.back().clocks == SlotExpr(0)) return;
  std::set<int32_t> used;
  for (const CudaVersion& version : versions) {
    for (int32_t slot : version.clocks.Slots()) used.insert(slot);
  }
  std::vector<std::pair<int32_t, std::vector<int64_t>>> slots;
  for (int32_t slot : used) slots.emplace_back(slot, SizesOf(plan, slot, used.size()));
  std::vector<std::vector<double>> costs(versions.size());  // empty: not chosen by clocks
  for (size_t v = 0; v < versions.size(); ++v) {
    if (versions[v].clocks != SlotExpr(0)) AppendCosts(versions[v].clocks, slots, costs[v]);
  }
  while (versions.size() > most) {
    size_t dispensable = versions.size();
    double least = kNever;
    for (size_t v = 0; v < versions.size(); ++v) {
      if (costs[v].empty()) continue;
      if (const double total = Total(schedule, costs, v); total <= least && total < kNever)
        least = total, dispensable = v;
    }
    if (dispensable == versions.size()) return;
    dropped.push_back(absl::StrCat(VersionText(versions[dispensable].version), ": ", versions[dispensable].ShapeText(),
                                   " (more than ", most, most == 1 ? " version)" : " versions)"));
    versions.erase(versions.begin() + static_cast<ptrdiff_t>(dispensable));
    costs.erase(costs.begin() + static_cast<ptrdiff_t>(dispensable));
  }
  const auto unguarded = [](const CudaVersion& version) { return version.version.guards.empty(); };
  const auto last = std::find_if(versions.rbegin(), versions.rend(), unguarded);
  std::rotate(last.base() - 1, last.base(), versions.end());
}

}  // namespace tailor::cuda
