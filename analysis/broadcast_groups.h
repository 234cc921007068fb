// BroadcastGroups: sets of dim sizes known to broadcast with each other. Within a group, each dim size is 1 or one
// common value.
#ifndef TAILOR_ANALYSIS_BROADCAST_GROUPS_H_
#define TAILOR_ANALYSIS_BROADCAST_GROUPS_H_

#include <set>
#include <vector>

#include "analysis/fact_store.h"
#include "graph/dim_expr.h"

namespace tailor {

class BroadcastGroups {
 public:
  // True if all bcast operands of `a` and `b` lie in one group. Requires canonical expressions.
  bool Joined(const DimExpr& a, const DimExpr& b) const;
  // Records that `a` and `b` broadcast. Merges groups that share a dim size which is never 1.
  void Join(const DimExpr& a, const DimExpr& b, const FactStore& store);

 private:
  std::vector<std::set<DimExpr>> groups_;
};

}  // namespace tailor

#endif  // TAILOR_ANALYSIS_BROADCAST_GROUPS_H_
