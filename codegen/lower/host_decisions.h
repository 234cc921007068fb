// What the host decides in one program: its loops and branches whose conditions follow from dim sizes and counters.
#ifndef TAILOR_CODEGEN_LOWER_HOST_DECISIONS_H_
#define TAILOR_CODEGEN_LOWER_HOST_DECISIONS_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/shape_facts.h"
#include "codegen/lower/counted_loop.h"
#include "fusion/fusion_plan.h"
#include "graph/graph.h"

namespace tailor::lower {

// Borrows its arguments.
class HostDecisions {
 public:
  // Appends the counters' names to `symbols`, the names of the host program's symbols.
  HostDecisions(const Graph& graph, const ShapeFacts& facts, const FusionPlan& plan, std::vector<std::string>& symbols);

  // The value of `v`, if the host knows it.
  std::optional<DimExpr> ValueOf(Value v) const { return known_ ? known_->of(v) : std::nullopt; }
  // Loop `id`, if the host counts it; else nullptr.
  const CountedLoop* Counted(NodeId id) const;
  // Whether argument `i` of loop `id` is a counter.
  bool IsCounter(NodeId id, size_t i) const;
  // Whether the host knows all that the group computes, and no kernel or call needs it in memory.
  bool IsOnHost(const FusionGroup& group) const;
  bool IsOutput(Value v) const;
  // Whether a kernel, a call or an output reads result `v` of a loop.
  bool IsRead(Value v) const;

 private:
  bool IsNeededInMemory(Value v) const;
  // Whether operand `i` of a control node only decides, on the host.
  bool IsDecision(NodeId id, size_t i) const;

  const Graph& graph_;
  const FusionPlan& plan_;
  std::optional<KnownValues> known_;  // of the graph, if it has control nodes or scatters
  std::map<NodeId, CountedLoop> counted_;
};

}  // namespace tailor::lower

#endif  // TAILOR_CODEGEN_LOWER_HOST_DECISIONS_H_
