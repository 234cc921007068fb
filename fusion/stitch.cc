#include "fusion/stitch.h"

#include "fusion/group_index.h"

namespace tailor {
namespace {

// Merges one reader of an output of `row` into it. The earliest reader comes first, so no group lies between.
bool TakeConsumer(GroupIndex& index, int row) {
  for (int consumer : index.Consumers(row)) {
    if (index.kind(consumer) != GroupKind::kContraction && index.TryMerge(row, consumer)) return true;
  }
  return false;
}

// Merges one loop that feeds `row`; returns the merged group, or -1.
int TakeProducer(GroupIndex& index, int row) {
  for (int producer : index.Producers(row)) {
    if (index.kind(producer) == GroupKind::kLoop && index.TryMerge(producer, row)) return producer;
  }
  return -1;
}

void RefuseMatmuls(GroupIndex& index, int row) {
  constexpr const char* kReason = "a matmul is tiled over its columns, a reduction needs whole rows";
  for (int producer : index.Producers(row)) {
    if (index.kind(producer) == GroupKind::kContraction) index.Refuse(producer, row, kReason);
  }
  for (int consumer : index.Consumers(row)) {
    if (index.kind(consumer) == GroupKind::kContraction) index.Refuse(row, consumer, kReason);
  }
}

}  // namespace

absl::Status Stitch(const FusionContext& context, FusionPlan& plan) {
  GroupIndex index(context, plan, "stitch");
  for (int g = 0; g < index.size(); ++g) {
    if (index.empty(g) || index.kind(g) != GroupKind::kRow) continue;
    int row = g;
    for (int next = row; next >= 0; next = TakeProducer(index, row)) {
      row = next;
      while (TakeConsumer(index, row)) {
      }
    }
    RefuseMatmuls(index, row);
  }
  index.Finish();
  return absl::OkStatus();
}

}  // namespace tailor
