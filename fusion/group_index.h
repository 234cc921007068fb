// A FusionPlan under merging: node ownership, group dependences, and the merge operation.
#ifndef TAILOR_FUSION_GROUP_INDEX_H_
#define TAILOR_FUSION_GROUP_INDEX_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "fusion/fusion_context.h"

namespace tailor {

// Edits `plan` in place. Merged groups stay as empty groups until Finish(), so indices are stable.
class GroupIndex {
 public:
  // `pass` names the pass in refusals.
  GroupIndex(const FusionContext& context, FusionPlan& plan, absl::string_view pass);

  const Uses& uses() const { return uses_; }
  int size() const { return static_cast<int>(plan_.groups.size()); }
  const FusionGroup& group(int g) const { return plan_.groups[g]; }
  bool empty(int g) const { return core_[g].empty(); }
  GroupKind kind(int g) const { return plan_.groups[g].kind; }
  // The group's core nodes, ascending.
  const std::vector<NodeId>& core(int g) const { return core_[g]; }
  int group_of(NodeId core_node) const { return group_of_[core_node]; }
  // The groups that read an output of `g`, and the groups that write an input of `g`; ordered by first core node.
  std::vector<int> Consumers(int g) const;
  std::vector<int> Producers(int g) const;

  // Whether a path leads from `from` to `to`; with `direct` = `to`, only paths of at least two edges count. Cost: the
  // groups between the two in execution order.
  bool Reaches(int from, int to, int direct = -1) const;
  // Whether joining the two would make the plan cyclic.
  bool MergeMakesCycle(int a, int b) const;
  // Merges group `b` into `a` if the result is a valid group; else records a refusal of the edge between them, if there
  // is one and `explain`.
  bool TryMerge(int a, int b, bool explain = true);
  // Replaces `a` and `b` by two other valid groups of the same core nodes. `second` may be empty and reads from
  // `first`. Requires !MergeMakesCycle(a, b).
  void Replace(int a, FusionGroup first, int b, FusionGroup second);
  void Refuse(int producer, int consumer, std::string reason);

  // Drops empty groups and sorts the others into an executable order.
  void Finish();

 private:
  void Own(int g);
  std::optional<std::vector<int>> ReachedBetween(int a, int b) const;
  void ReplaceGroups(int a, FusionGroup first, int b, FusionGroup second, const std::vector<int>& reached);
  void Reorder(int a, int b, const std::vector<int>& reached);

  const FusionContext& context_;
  FusionPlan& plan_;
  std::string pass_;
  Uses uses_;
  std::vector<std::vector<NodeId>> core_;
  std::vector<int> group_of_;
  // A topological order of the groups, empty ones included, maintained incrementally (Pearce and Kelly, A dynamic
  // topological sort algorithm, 2007): paths lead only to later places.
  std::vector<int> place_;            // by group
  std::vector<int> at_place_;         // by place: the group
  mutable std::vector<int> seen_in_;  // by group: the last search that visited it
  mutable int search_ = 0;
  mutable std::vector<int> reached_;  // groups visited by the last search
};

}  // namespace tailor

#endif  // TAILOR_FUSION_GROUP_INDEX_H_
