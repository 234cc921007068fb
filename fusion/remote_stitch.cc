#include "fusion/remote_stitch.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "fusion/group_index.h"
#include "fusion/operand_map.h"
#include "graph/visits.h"

namespace tailor {
namespace {

// Number of dims that are not provably 1.
template <typename DimSizes, typename Get>
int RealDims(const FusionContext& context, const DimSizes& dim_sizes, Get get) {
  return static_cast<int>(std::count_if(dim_sizes.begin(), dim_sizes.end(), [&](const auto& dim_size) {
    return !ProvablyOne(context.facts, get(dim_size));
  }));
}

// The row groups that read each value.
class RowsReading {
 public:
  explicit RowsReading(const GroupIndex& index) {
    for (int g = 0; g < index.size(); ++g) {
      if (index.empty(g) || index.kind(g) != GroupKind::kRow) continue;
      for (Value input : index.group(g).inputs) rows_[input].push_back(g);
    }
  }

  // The row groups after `after` that share with `group` an input as large as the domain of `group`.
  std::set<int> SharingLargeInput(const FusionContext& context, const FusionGroup& group, int after) const {
    const int domain = RealDims(context, group.axes, [](const GroupAxis& axis) { return axis.dim_size; });
    std::set<int> sharing;
    for (Value input : group.inputs) {
      const auto rows = rows_.find(input);
      if (rows == rows_.end()) continue;
      if (RealDims(context, context.graph.type(input).shape, [](const DimExpr& e) { return e; }) != domain) continue;
      sharing.insert(std::upper_bound(rows->second.begin(), rows->second.end(), after), rows->second.end());
    }
    CountVisits(group.inputs.size() + sharing.size());
    return sharing;
  }

 private:
  std::map<Value, std::vector<int>> rows_;  // ascending
};

}  // namespace

absl::Status RemoteStitch(const FusionContext& context, FusionPlan& plan) {
  GroupIndex index(context, plan, "remote-stitch");
  const RowsReading reading(index);
  for (int a = 0; a < index.size(); ++a) {
    if (index.empty(a) || index.kind(a) != GroupKind::kRow) continue;
    std::set<int> sharing = reading.SharingLargeInput(context, index.group(a), a);
    for (int b = a; !sharing.empty();) {
      b = *sharing.begin();
      sharing.erase(sharing.begin());
      if (index.empty(b) || !index.TryMerge(a, b)) continue;
      sharing.merge(reading.SharingLargeInput(context, index.group(a), b));  // inputs of `b`
    }
  }
  index.Finish();
  return absl::OkStatus();
}

}  // namespace tailor
