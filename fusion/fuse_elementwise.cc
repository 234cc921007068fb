#include "fusion/fuse_elementwise.h"

#include "fusion/group_index.h"

namespace tailor {
namespace {

// What a scatter reads is in memory before it starts, what it writes is complete when it ends.
void RefuseScatters(GroupIndex& index) {
  const char* reason = "a scatter updates memory in order, in kernels of its own";
  for (int g = 0; g < index.size(); ++g) {
    if (index.empty(g) || index.kind(g) != GroupKind::kScatter) continue;
    for (int producer : index.Producers(g)) index.Refuse(producer, g, reason);
    for (int consumer : index.Consumers(g)) index.Refuse(g, consumer, reason);
  }
}

}  // namespace

absl::Status FuseElementwise(const FusionContext& context, FusionPlan& plan) {
  GroupIndex index(context, plan, "fuse-elementwise");
  RefuseScatters(index);
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
