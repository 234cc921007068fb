// Dim sizes that are known to broadcast with each other: in a group, each is 1 or the one other value.
#ifndef TAILOR_ANALYSIS_BROADCAST_GROUPS_H_
#define TAILOR_ANALYSIS_BROADCAST_GROUPS_H_

#include <set>
#include <vector>

#include "analysis/fact_store.h"
#include "graph/dim_expr.h"

namespace tailor {

class BroadcastGroups {
 public:
  // True if all dim sizes that `a` and `b` are made of lie in one group. Expressions are canonical.
  bool Joined(const DimExpr& a, const DimExpr& b) const;
  // Records that `a` and `b` broadcast; groups that share a dim size which is never 1 are one.
  void Join(const DimExpr& a, const DimExpr& b, const FactStore& store);

 private:
  std::vector<std::set<DimExpr>> groups_;
};

}  // namespace tailor

#endif  // TAILOR_ANALYSIS_BROADCAST_GROUPS_H_
