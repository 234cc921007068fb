#include "fusion/fuse_dot_epilogue.h"

#include <algorithm>
#include <set>

#include "fusion/form_group.h"
#include "fusion/fuse_elementwise.h"
#include "fusion/group_index.h"
#include "fusion/lhs_views.h"

namespace tailor {
namespace {

// The nodes of `loop` that `end` is computed from, itself included; ascending.
std::vector<NodeId> NodesUpTo(const Graph& graph, const FusionGroup& loop, const std::vector<NodeId>& core,
                              NodeId end) {
  std::set<NodeId> reached = {end};
  for (auto it = loop.nodes.rbegin(); it != loop.nodes.rend(); ++it) {
    if (reached.count(*it) == 0) continue;
    for (Value operand : graph.node(*it).operands) {
      if (std::binary_search(loop.nodes.begin(), loop.nodes.end(), operand.node)) reached.insert(operand.node);
    }
  }
  std::vector<NodeId> nodes;
  std::set_intersection(reached.begin(), reached.end(), core.begin(), core.end(), std::back_inserter(nodes));
  return nodes;
}

// The sources of the matmul's operands behind floating views.
std::vector<NodeId> SourcesOf(const Graph& graph, const Uses& uses, NodeId matmul) {
  std::vector<NodeId> sources;
  for (Value operand : graph.node(matmul).operands) {
    NodeId id = operand.node;
    while (uses.floating(id)) id = graph.node(id).operands[0].node;
    sources.push_back(id);
  }
  return sources;
}

// The matmul takes the part of the loop that ends in one value, the latest that works; the other nodes stay a loop.
bool TakePartOf(const FusionContext& context, GroupIndex& index, int matmul, int loop) {
  const std::vector<NodeId> whole = index.core(loop);
  for (auto end = whole.rbegin(); end != whole.rend(); ++end) {
    std::vector<NodeId> taken = NodesUpTo(context.graph, index.group(loop), whole, *end);
    if (taken.size() == whole.size()) continue;
    std::vector<NodeId> joined, rest;
    std::merge(index.core(matmul).begin(), index.core(matmul).end(), taken.begin(), taken.end(),
               std::back_inserter(joined));
    std::set_difference(whole.begin(), whole.end(), taken.begin(), taken.end(), std::back_inserter(rest));
    absl::StatusOr<FusionGroup> first = FormGroup(context, index.uses(), std::move(joined));
    if (!first.ok()) continue;
    absl::StatusOr<FusionGroup> second = FormGroup(context, index.uses(), std::move(rest));
    if (!second.ok()) continue;
    index.Replace(matmul, *std::move(first), loop, *std::move(second));
    return true;
  }
  return false;
}

// Merges one consumer into `matmul`; true if there may be another.
bool TakeConsumer(const FusionContext& context, GroupIndex& index, int matmul) {
  for (int consumer : index.Consumers(matmul)) {
    if (index.kind(consumer) != GroupKind::kLoop) continue;
    if (index.TryMerge(matmul, consumer)) return true;
    if (!index.MergeMakesCycle(matmul, consumer) && TakePartOf(context, index, matmul, consumer)) return true;
  }
  return false;
}

bool EndsInPadding(const FusionContext& context, const GroupIndex& index, int producer, int matmul) {
  if (index.kind(producer) != GroupKind::kLoop || index.group(producer).outputs.size() != 1) return false;
  const NodeId dot = index.group(matmul).dominant;
  return PaddingOfLhs(context, index.uses(), index.core(producer), dot) >= 0;
}

// Merges the loop that ends in the padding of the matmul's lhs; returns the index of the merged group.
int TakePadding(const FusionContext& context, GroupIndex& index, int matmul) {
  for (int producer : index.Producers(matmul)) {
    if (EndsInPadding(context, index, producer, matmul) && index.TryMerge(producer, matmul)) return producer;
  }
  return matmul;
}

// Records why no other producer is fused into the matmul, and why matmuls stay apart.
void RefuseProducers(const FusionContext& context, GroupIndex& index, int matmul) {
  for (int producer : index.Producers(matmul)) {
    if (index.kind(producer) != GroupKind::kContraction) continue;
    index.Refuse(producer, matmul, "two matmuls have loop nests of their own");
  }
  for (NodeId source : SourcesOf(context.graph, index.uses(), index.group(matmul).dominant)) {
    int producer = index.group_of(source);
    if (producer < 0 || index.kind(producer) == GroupKind::kContraction) continue;
    if (EndsInPadding(context, index, producer, matmul)) continue;  // its refusal is recorded already
    index.Refuse(producer, matmul, "a matmul reads its operands from memory as they are");
  }
}

// Records why a view that was kept for another matmul, and whose reader `matmul` took, stays a loop.
void RefuseViews(const FusionContext& context, GroupIndex& index, int matmul) {
  for (int producer : index.Producers(matmul)) {
    if (index.kind(producer) != GroupKind::kLoop || !IsDeferredForMatmul(context.graph, index, producer)) continue;
    index.Refuse(producer, matmul, "an epilogue reads views that were kept for a matmul from memory");
  }
}

}  // namespace

absl::Status FuseDotEpilogue(const FusionContext& context, FusionPlan& plan) {
  GroupIndex index(context, plan, "fuse-dot-epilogue");
  for (int g = 0; g < index.size(); ++g) {
    if (index.empty(g) || index.kind(g) != GroupKind::kContraction) continue;
    while (TakeConsumer(context, index, g)) {
    }
    RefuseProducers(context, index, TakePadding(context, index, g));
  }
  JoinLoops(index, [&](int g) { return IsDeferredForMatmul(context.graph, index, g); });
  for (int g = 0; g < index.size(); ++g) {
    if (!index.empty(g) && index.kind(g) == GroupKind::kContraction) RefuseViews(context, index, g);
  }
  index.Finish();
  return absl::OkStatus();
}

}  // namespace tailor
