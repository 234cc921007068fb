#include "fusion/fuse_reduce.h"

#include "fusion/group_index.h"

namespace tailor {
namespace {

// Merges one loop that feeds row group `row`; returns the merged group, or -1.
int TakeProducer(GroupIndex& index, int row) {
  for (int producer : index.Producers(row)) {
    if (index.kind(producer) == GroupKind::kLoop && index.TryMerge(producer, row)) return producer;
  }
  return -1;
}

}  // namespace

absl::Status FuseReduce(const FusionContext& context, FusionPlan& plan) {
  GroupIndex index(context, plan, "fuse-reduce");
  for (int g = 0; g < index.size(); ++g) {
    if (index.empty(g) || index.kind(g) != GroupKind::kRow) continue;
    for (int row = g; row >= 0;) row = TakeProducer(index, row);
  }
  index.Finish();
  return absl::OkStatus();
}

}  // namespace tailor
