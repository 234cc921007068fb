#include "fusion/fuse_reduce.h"

#include <algorithm>
#include <vector>

#include "fusion/group_index.h"
#include "fusion/operand_map.h"

namespace tailor {
namespace {

// The ranks of `values` without dims of size 1, largest first: a measure of memory traffic that needs no dim sizes.
std::vector<int> Traffic(const FusionContext& context, const std::vector<Value>& values) {
  std::vector<int> ranks;
  for (Value v : values) {
    const Shape& shape = context.graph.type(v).shape;
    ranks.push_back(static_cast<int>(std::count_if(
        shape.begin(), shape.end(), [&](const DimExpr& dim_size) { return !ProvablyOne(context.facts, dim_size); })));
  }
  std::sort(ranks.rbegin(), ranks.rend());
  return ranks;
}

// Whether `value` has a reader that could not join `row` along with `loop`, its producer.
bool ReadElsewhere(const GroupIndex& index, Value value, int loop, int row) {
  if (index.uses().stored(value.node)) return true;
  const std::vector<NodeId>& readers = index.uses().readers(value.node);
  return std::any_of(readers.begin(), readers.end(), [&](NodeId reader) {
    int g = index.group_of(reader);
    return g != loop && g != row && !index.Reaches(row, g);
  });
}

// A loop between two reductions goes to the side with less memory traffic. True if that is the reduction before `row`;
// the stitch pass then takes the loop.
bool BelongsToRowBefore(const FusionContext& context, const GroupIndex& index, int loop, int row) {
  const std::vector<Value>& read = index.group(row).inputs;
  const std::vector<Value>& written = index.group(loop).outputs;
  std::vector<Value> crossing;  // into `row`, if that took the loop
  bool follows_row = false;
  for (Value input : index.group(loop).inputs) {
    int producer = index.group_of(input.node);
    if (producer < 0 || index.kind(producer) != GroupKind::kRow) continue;
    follows_row = true;
    if (!std::binary_search(read.begin(), read.end(), input)) crossing.push_back(input);
  }
  for (Value output : written) {
    if (ReadElsewhere(index, output, loop, row)) crossing.push_back(output);
  }
  return follows_row && Traffic(context, crossing) >= Traffic(context, written);
}

// Merges one loop that feeds row group `row`; returns the merged group, or -1.
int TakeProducer(const FusionContext& context, GroupIndex& index, int row) {
  for (int producer : index.Producers(row)) {
    if (index.kind(producer) != GroupKind::kLoop || BelongsToRowBefore(context, index, producer, row)) {
      continue;
    }
    if (index.TryMerge(producer, row)) return producer;
  }
  return -1;
}

}  // namespace

absl::Status FuseReduce(const FusionContext& context, FusionPlan& plan) {
  GroupIndex index(context, plan, "fuse-reduce");
  for (int g = 0; g < index.size(); ++g) {
    if (index.empty(g) || index.kind(g) != GroupKind::kRow) continue;
    for (int row = g; row >= 0;) row = TakeProducer(context, index, row);
  }
  index.Finish();
  return absl::OkStatus();
}

}  // namespace tailor
