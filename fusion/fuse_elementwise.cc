#include "fusion/fuse_elementwise.h"

#include <algorithm>
#include <vector>

#include "fusion/node_class.h"

namespace tailor {
namespace {

// Records refusals for scatter and control groups: their inputs must be in memory before they start, and their outputs
// are complete only when they end.
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

// An expensive node is materialized where its consumer would recompute it, as a window does. Its elementwise consumers
// of the same shape are fused with it first, so that the last of them is materialized instead (AStitch section 3.2,
// operator-level reuse): a window reads silu(x), not x and sigmoid(x).
void FuseExpensiveProducers(const FusionContext& context, FusionPlan& plan) {
  GroupIndex index(context, plan, "fuse-elementwise");
  // Of expensive nodes and their elementwise consumers; null for others.
  std::vector<const Shape*> shapes(index.size());
  const auto follows = [&](int g, int producer) {
    return shapes[producer] != nullptr && *shapes[g] == *shapes[producer];
  };
  for (int g = 0; g < index.size(); ++g) {
    if (index.kind(g) != GroupKind::kLoop || index.core(g).size() != 1) continue;
    const Node& node = context.graph.node(index.core(g).front());
    if (ClassOf(node) != FusionClass::kElementwise) continue;
    shapes[g] = &node.results[0].shape;
    const std::vector<int> producers = index.Producers(g);
    const bool joins = IsExpensive(node) || std::any_of(producers.begin(), producers.end(),
                                                        [&](int producer) { return follows(g, producer); });
    if (!joins) shapes[g] = nullptr;
  }
  for (int g = index.size() - 1; g >= 0; --g) {
    if (shapes[g] == nullptr) continue;
    for (int consumer : index.Consumers(g)) {
      if (!index.empty(consumer) && shapes[consumer] != nullptr && follows(g, consumer)) {
        index.TryMerge(g, consumer, /*explain=*/false);
      }
    }
  }
  index.Finish();
}

}  // namespace

bool IsDeferredForMatmul(const Graph& graph, const GroupIndex& index, int loop) {
  const std::vector<Value>& outputs = index.group(loop).outputs;
  if (outputs.size() != 1 || index.uses().stored(outputs[0].node)) return false;
  return ClassOf(graph.node(outputs[0].node)) == FusionClass::kView;
}

void JoinLoops(GroupIndex& index, absl::FunctionRef<bool(int)> joins) {
  // Producers last to first: a chain is whole when its first node joins it.
  for (int g = index.size() - 1; g >= 0; --g) {
    if (index.empty(g) || index.kind(g) != GroupKind::kLoop || !joins(g)) continue;
    for (int consumer : index.Consumers(g)) {
      if (index.empty(consumer) || index.kind(consumer) != GroupKind::kLoop) continue;
      index.TryMerge(g, consumer);
    }
  }
}

absl::Status FuseElementwise(const FusionContext& context, FusionPlan& plan) {
  FuseExpensiveProducers(context, plan);
  GroupIndex index(context, plan, "fuse-elementwise");
  RefuseWholes(index);
  JoinLoops(index, [&](int g) { return !IsDeferredForMatmul(context.graph, index, g); });
  index.Finish();
  return absl::OkStatus();
}

}  // namespace tailor
