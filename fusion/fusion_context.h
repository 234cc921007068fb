// The read-only input of every fusion pass (FusionContext), and the use relation of nodes (Uses).
#ifndef TAILOR_FUSION_FUSION_CONTEXT_H_
#define TAILOR_FUSION_FUSION_CONTEXT_H_

#include <vector>

#include "analysis/shape_facts.h"
#include "fusion/fusion_plan.h"
#include "fusion/operand_map.h"
#include "fusion/target_traits.h"
#include "graph/graph.h"

namespace tailor {

// Borrows its arguments, for the time of one pass. Single-threaded: `maps` is a cache.
struct FusionContext {
  FusionContext(const Graph& graph, const ShapeFacts& facts, const TargetTraits& traits)
      : graph(graph), facts(facts), traits(traits), maps(graph, facts) {}

  const Graph& graph;
  const ShapeFacts& facts;
  const TargetTraits& traits;
  const OperandMaps maps;
};

// Which nodes are live and which are floating, and the readers of each.
//
// A floating node is a view or an iota that belongs to no group of its own: each group that reads it holds a copy. All
// other nodes with code are core nodes; each is in exactly one group.
class Uses {
 public:
  Uses(const Graph& graph, std::vector<bool> floating);
  // Floating nodes: the live views and iotas that no group of `plan` writes.
  static Uses Of(const Graph& graph, const FusionPlan& plan);

  bool live(NodeId id) const { return live_[id]; }
  bool floating(NodeId id) const { return floating_[id]; }
  bool core(NodeId id) const { return core_[id]; }
  // A graph output or an operand of a control node: always in memory.
  bool stored(NodeId id) const { return stored_[id]; }
  // The core nodes that read `id`, directly or through floating nodes; ascending.
  const std::vector<NodeId>& readers(NodeId id) const { return readers_[id]; }
  // The live nodes with `id` as an operand; ascending.
  const std::vector<NodeId>& users(NodeId id) const { return users_[id]; }

 private:
  std::vector<bool> live_, floating_, core_, stored_;
  std::vector<std::vector<NodeId>> users_, readers_;
};

}  // namespace tailor

#endif  // TAILOR_FUSION_FUSION_CONTEXT_H_
