#include "analysis/broadcast_groups.h"

#include <algorithm>

#include "analysis/dim_terms.h"

namespace tailor {
namespace {

std::set<DimExpr> BothLeaves(const DimExpr& a, const DimExpr& b) {
  std::set<DimExpr> leaves;
  for (const DimExpr& e : {a, b}) {
    std::vector<DimExpr> of = LeavesOf(DimExpr::AtomKind::kBcast, e);
    leaves.insert(of.begin(), of.end());
  }
  return leaves;
}

bool Includes(const std::set<DimExpr>& all, const std::set<DimExpr>& some) {
  return std::includes(all.begin(), all.end(), some.begin(), some.end());
}

}  // namespace

bool BroadcastGroups::Joined(const DimExpr& a, const DimExpr& b) const {
  std::set<DimExpr> leaves = BothLeaves(a, b);
  return std::any_of(groups_.begin(), groups_.end(),
                     [&](const std::set<DimExpr>& group) { return Includes(group, leaves); });
}

void BroadcastGroups::Join(const DimExpr& a, const DimExpr& b, const FactStore& store) {
  std::set<DimExpr> joined = BothLeaves(a, b);
  for (auto group = groups_.begin(); group != groups_.end();) {
    bool shared = std::any_of(group->begin(), group->end(),
                              [&](const DimExpr& leaf) { return joined.contains(leaf) && store.NeverOne(leaf); });
    if (shared) joined.insert(group->begin(), group->end());
    group = shared || Includes(joined, *group) ? groups_.erase(group) : group + 1;
  }
  groups_.push_back(std::move(joined));
}

}  // namespace tailor
