#include "fusion/group_index.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <queue>

#include "absl/strings/str_cat.h"
#include "fusion/extend_loop.h"
#include "fusion/form_group.h"
#include "graph/visits.h"

namespace tailor {
namespace {

// Limit on core nodes per group. A merge is linear in the nodes of both groups; the limit makes a chain of merges
// linear.
constexpr size_t kMostNodes = 512;

}  // namespace

GroupIndex::GroupIndex(const FusionContext& context, FusionPlan& plan, absl::string_view pass)
    : context_(context),
      plan_(plan),
      pass_(pass),
      uses_(Uses::Of(context.graph, plan)),
      core_(plan.groups.size()),
      group_of_(context.graph.nodes().size(), -1),
      place_(plan.groups.size()),
      seen_in_(plan.groups.size(), 0) {
  std::iota(place_.begin(), place_.end(), 0);
  at_place_ = place_;
  for (int g = 0; g < size(); ++g) Own(g);
}

void GroupIndex::Own(int g) {
  core_[g].clear();
  for (NodeId id : plan_.groups[g].nodes) {
    if (!uses_.core(id)) continue;
    core_[g].push_back(id);
    group_of_[id] = g;
  }
}

std::vector<int> GroupIndex::Consumers(int g) const {
  std::vector<std::pair<NodeId, int>> found;
  for (Value output : plan_.groups[g].outputs) {
    CountVisits(uses_.readers(output.node).size());
    for (NodeId reader : uses_.readers(output.node)) {
      int consumer = group_of_[reader];
      if (consumer != g) found.emplace_back(core_[consumer].front(), consumer);
    }
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  std::vector<int> groups;
  for (const auto& [node, group] : found) groups.push_back(group);
  return groups;
}

std::vector<int> GroupIndex::Producers(int g) const {
  CountVisits(plan_.groups[g].inputs.size());
  std::vector<int> groups;
  for (Value input : plan_.groups[g].inputs) {
    int producer = group_of_[input.node];
    if (producer >= 0) groups.push_back(producer);
  }
  std::sort(groups.begin(), groups.end(), [&](int a, int b) { return core_[a].front() < core_[b].front(); });
  groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
  return groups;
}

bool GroupIndex::Reaches(int from, int to, int direct) const {
  ++search_;
  reached_.clear();
  std::vector<int> pending;
  const auto push = [&](int g) {
    if (seen_in_[g] == search_ || place_[g] > place_[to]) return;
    seen_in_[g] = search_;
    pending.push_back(g);
    reached_.push_back(g);
  };
  for (int g : Consumers(from)) {
    if (g != direct) push(g);
  }
  while (!pending.empty()) {
    int g = pending.back();
    pending.pop_back();
    if (g == to) return true;
    for (int next : Consumers(g)) push(next);
  }
  return false;
}

// The groups between `a` and `b` that the earlier one reaches, in order. nullopt if one of them reaches the later one.
std::optional<std::vector<int>> GroupIndex::ReachedBetween(int a, int b) const {
  if (MergeMakesCycle(a, b)) return std::nullopt;
  std::vector<int> reached = reached_;
  std::sort(reached.begin(), reached.end(), [&](int x, int y) { return place_[x] < place_[y]; });
  return reached;
}

// Updates the order after `a` became the union of both groups, or `a` and `b` became the first and the second part. New
// order: groups between them that are not reachable from the earlier one, `a`, the reachable ones (`reached`), `b`.
void GroupIndex::Reorder(int a, int b, const std::vector<int>& reached) {
  const int first = std::min(place_[a], place_[b]), last = std::max(place_[a], place_[b]);
  const auto put = [&](int g, int place) {
    place_[g] = place;
    at_place_[place] = g;
  };
  if (empty(b) && reached.empty()) {
    put(b, first);
    put(a, last);
    return;
  }
  int place = first;
  auto next = reached.begin();
  for (int from = first + 1; from < last; ++from) {
    const int g = at_place_[from];
    next != reached.end() && *next == g ? void(++next) : put(g, place++);
  }
  put(a, place++);
  for (int g : reached) put(g, place++);
  put(b, place);
}

bool GroupIndex::MergeMakesCycle(int a, int b) const {
  return place_[a] < place_[b] ? Reaches(a, b, b) : Reaches(b, a, a);
}

bool GroupIndex::TryMerge(int a, int b, bool explain) {
  const auto refuse = [&](std::string reason) {
    if (explain) Refuse(a, b, std::move(reason));
    return false;
  };
  CountVisits();
  const size_t count = core_[a].size() + core_[b].size();
  if (count > kMostNodes) {
    return refuse(absl::StrCat("one kernel would have ", count, " nodes, of ", kMostNodes, " at most"));
  }
  const std::optional<std::vector<int>> reached = ReachedBetween(a, b);
  if (!reached) {
    return refuse("other groups lie between them and would have to run in the middle");
  }
  if (ExtendLoop(context_, uses_, plan_.groups[a], plan_.groups[b])) {
    ReplaceGroups(a, std::move(plan_.groups[b]), b, {}, *reached);
    return true;
  }
  std::vector<NodeId> nodes;
  std::merge(core_[a].begin(), core_[a].end(), core_[b].begin(), core_[b].end(), std::back_inserter(nodes));
  absl::StatusOr<FusionGroup> merged = FormGroup(context_, uses_, std::move(nodes));
  if (!merged.ok()) {
    return refuse(std::string(merged.status().message()));
  }
  const size_t tensors = merged->inputs.size() + merged->outputs.size();
  if (tensors > context_.traits.max_kernel_tensors) {
    return refuse(absl::StrCat("one kernel would have ", tensors, " tensors, of ", context_.traits.max_kernel_tensors,
                               " at most"));
  }
  ReplaceGroups(a, *std::move(merged), b, {}, *reached);
  return true;
}

void GroupIndex::Replace(int a, FusionGroup first, int b, FusionGroup second) {
  ReplaceGroups(a, std::move(first), b, std::move(second), ReachedBetween(a, b).value());
}

void GroupIndex::ReplaceGroups(int a, FusionGroup first, int b, FusionGroup second, const std::vector<int>& reached) {
  plan_.groups[a] = std::move(first);
  plan_.groups[b] = std::move(second);
  Own(a);
  Own(b);
  Reorder(a, b, reached);
}

void GroupIndex::Refuse(int producer, int consumer, std::string reason) {
  for (Value input : plan_.groups[consumer].inputs) {
    if (group_of_[input.node] != producer) continue;
    Refusal refusal{input.node, core_[consumer].front(), pass_, std::move(reason)};
    for (NodeId reader : uses_.readers(input.node)) {
      if (group_of_[reader] != consumer) continue;
      refusal.consumer = reader;
      break;
    }
    plan_.refusals.push_back(std::move(refusal));
    return;
  }
}

void GroupIndex::Finish() {
  std::vector<int> waiting(plan_.groups.size(), 0);
  using Entry = std::pair<NodeId, int>;  // ready groups in order of their first node
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> ready;
  for (int g = 0; g < size(); ++g) {
    waiting[g] = static_cast<int>(Producers(g).size());
    if (!empty(g) && waiting[g] == 0) ready.emplace(core_[g].back(), g);
  }
  std::vector<FusionGroup> ordered;
  std::vector<std::vector<int>> consumers(plan_.groups.size());
  for (int g = 0; g < size(); ++g) {
    if (!empty(g)) consumers[g] = Consumers(g);
  }
  while (!ready.empty()) {
    int g = ready.top().second;
    ready.pop();
    ordered.push_back(std::move(plan_.groups[g]));
    for (int next : consumers[g]) {
      if (--waiting[next] == 0) ready.emplace(core_[next].back(), next);
    }
  }
  plan_.groups = std::move(ordered);
}

}  // namespace tailor
