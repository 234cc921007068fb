#include "fusion/fuse_elementwise.h"

#include "fusion/group_index.h"

namespace tailor {

absl::Status FuseElementwise(const FusionContext& context, FusionPlan& plan) {
  GroupIndex index(context, plan, "fuse-elementwise");
  // Producers last to first: a chain is whole when its first node joins it.
  for (int g = index.size() - 1; g >= 0; --g) {
    if (index.empty(g) || index.kind(g) != GroupKind::kLoop) continue;
    for (int consumer : index.Consumers(g)) {
      if (index.empty(consumer) || index.kind(consumer) != GroupKind::kLoop) continue;
      index.TryMerge(g, consumer);
    }
  }
  index.Finish();
  return absl::OkStatus();
}

}  // namespace tailor
