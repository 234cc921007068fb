#include "fusion/fuse_scan.h"

#include "fusion/group_index.h"

namespace tailor {
namespace {

// Merges one loop that `scan` reads or feeds; returns the merged group, or -1.
int TakeLoop(GroupIndex& index, int scan) {
  for (int consumer : index.Consumers(scan)) {
    if (index.kind(consumer) == GroupKind::kLoop && index.TryMerge(scan, consumer)) return scan;
  }
  for (int producer : index.Producers(scan)) {
    if (index.kind(producer) == GroupKind::kLoop && index.TryMerge(producer, scan)) return producer;
  }
  return -1;
}

void RefuseOthers(GroupIndex& index, int scan) {
  constexpr const char* kReason = "a scan runs in order, in a loop nest of its own";
  for (int producer : index.Producers(scan)) {
    if (index.kind(producer) != GroupKind::kLoop) index.Refuse(producer, scan, kReason);
  }
  for (int consumer : index.Consumers(scan)) {
    if (index.kind(consumer) != GroupKind::kLoop) index.Refuse(scan, consumer, kReason);
  }
}

}  // namespace

absl::Status FuseScan(const FusionContext& context, FusionPlan& plan) {
  GroupIndex index(context, plan, "fuse-scan");
  for (int g = 0; g < index.size(); ++g) {
    if (index.empty(g) || index.kind(g) != GroupKind::kScan) continue;
    int scan = g;
    for (int merged = g; merged >= 0; merged = TakeLoop(index, scan)) scan = merged;
    RefuseOthers(index, scan);
  }
  index.Finish();
  return absl::OkStatus();
}

}  // namespace tailor
