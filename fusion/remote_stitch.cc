#include "fusion/remote_stitch.h"

#include <algorithm>

#include "fusion/group_index.h"
#include "fusion/operand_map.h"

namespace tailor {
namespace {

template <typename Extents, typename Get>
int RealDims(const FusionContext& context, const Extents& extents, Get get) {
  return static_cast<int>(std::count_if(extents.begin(), extents.end(),
                                        [&](const auto& extent) { return !ProvablyOne(context.facts, get(extent)); }));
}

// Whether both read a tensor as large as their domain.
bool ShareLargeInput(const FusionContext& context, const FusionGroup& a, const FusionGroup& b) {
  int domain = RealDims(context, a.axes, [](const GroupAxis& axis) { return axis.extent; });
  return std::any_of(a.inputs.begin(), a.inputs.end(), [&](Value input) {
    if (!std::binary_search(b.inputs.begin(), b.inputs.end(), input)) return false;
    return RealDims(context, context.graph.type(input).shape, [](const DimExpr& e) { return e; }) == domain;
  });
}

}  // namespace

absl::Status RemoteStitch(const FusionContext& context, FusionPlan& plan) {
  GroupIndex index(context, plan, "remote-stitch");
  for (int a = 0; a < index.size(); ++a) {
    if (index.empty(a) || index.kind(a) != GroupKind::kRow) continue;
    for (int b = a + 1; b < index.size(); ++b) {
      if (index.empty(b) || index.kind(b) != GroupKind::kRow) continue;
      if (ShareLargeInput(context, index.group(a), index.group(b))) index.TryMerge(a, b);
    }
  }
  index.Finish();
  return absl::OkStatus();
}

}  // namespace tailor
