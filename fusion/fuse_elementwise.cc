#include "fusion/fuse_elementwise.h"

#include "fusion/group_index.h"

namespace tailor {
namespace {

// What these read is in memory before they start, what they write is complete when they end.
void RefuseWholes(GroupIndex& index) {
  for (int g = 0; g < index.size(); ++g) {
    if (index.empty(g)) continue;
    const bool scatter = index.kind(g) == GroupKind::kScatter;
    if (!scatter && index.kind(g) != GroupKind::kControl) continue;
    const char* reason = scatter ? "a scatter updates memory in order, in kernels of its own"
                                 : "control flow runs between kernels, not in them";
    for (int producer : index.Producers(g)) index.Refuse(producer, g, reason);
    for (int consumer : index.Consumers(g)) index.Refuse(g, consumer, reason);
  }
}

}  // namespace

absl::Status FuseElementwise(const FusionContext& context, FusionPlan& plan) {
  GroupIndex index(context, plan, "fuse-elementwise");
  RefuseWholes(index);
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
