// A scatter that sets one row of its operand, at an index that the host knows, in the kernel that computes the row: the
// last statement of a recurrent layer's step, y[t] = h, needs no launch of its own.
#ifndef TAILOR_CODEGEN_LOWER_ROW_UPDATES_H_
#define TAILOR_CODEGEN_LOWER_ROW_UPDATES_H_

#include <map>
#include <vector>

#include "analysis/shape_facts.h"
#include "codegen/lower/host_decisions.h"
#include "codegen/lower/lowered_kernel.h"
#include "fusion/fusion_plan.h"
#include "graph/graph.h"

namespace tailor::lower {

// Groups of loops, and the scatters that their kernels may do besides.
class RowUpdates {
 public:
  // `on_host` has the known indices. Borrows its arguments.
  RowUpdates(const Graph& graph, const ShapeFacts& facts, const FusionPlan& plan, const HostDecisions& on_host);

  // The scatters that group `g` may do in place of their own groups, if these update their operands in place.
  const std::vector<NodeId>& of(int g) const;
  // Adds scatter `id` to the kernel of its group, if the kernel has loops only. The scatter's result is then the
  // kernel's last output.
  bool Add(NodeId id, LoweredKernel& kernel) const;

 private:
  const Graph& graph_;
  const ShapeFacts& facts_;
  const HostDecisions& on_host_;
  std::map<int, std::vector<NodeId>> scatters_;  // by group
};

}  // namespace tailor::lower

#endif  // TAILOR_CODEGEN_LOWER_ROW_UPDATES_H_
