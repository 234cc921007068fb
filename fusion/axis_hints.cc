#include "fusion/axis_hints.h"

#include <algorithm>
#include <set>

#include "fusion/node_class.h"
#include "graph/visits.h"

namespace tailor {
namespace {

// Copies the known axis of one dim to the other. Returns the one that changed; nullptr if both are known or both
// unknown.
const int* Agree(int& a, int& b) {
  if (a == kUnknownAxis && b >= 0) {
    a = b;
    return &a;
  }
  if (b == kUnknownAxis && a >= 0) {
    b = a;
    return &b;
  }
  return nullptr;
}

}  // namespace

AxisHints::AxisHints(const FusionContext& context, const FusionGroup& group) : context_(context), group_(group) {
  if (group.kind == GroupKind::kLoop) {
    for (Value output : group.outputs) of_[output] = Identity(output);
    return;
  }
  Connect();
  Seed();
  SpreadAll(Carriers::kNodes);
  SpreadAll(Carriers::kValues);
  while (MatchDimSizes()) SpreadPending(Carriers::kValues);
}

void AxisHints::Connect() {
  const Graph& graph = context_.graph;
  for (NodeId id : group_.nodes) {
    const Node& node = graph.node(id);
    Dims& result = of_[{id, 0}] = Blank({id, 0});
    if (IsContraction(node)) continue;
    if (IsReduction(node)) domain_[id] = Blank(node.operands[0]);
    for (int i = 0; i < static_cast<int>(node.operands.size()); ++i) {
      const Value value = node.operands[i];
      const auto place = of_.find(value);
      Dims* operand = &(place != of_.end() ? place : of_.emplace(value, Blank(value)).first)->second;
      Dims* source = IsReduction(node) ? &domain_[id] : operand;
      for (const Dims* dims : std::set<const Dims*>{&result, source, operand}) links_at_[dims].push_back(links_.size());
      links_.push_back({&context_.maps.of(id, i), &result, source, operand, IsReduction(node), InGroup(value.node)});
    }
  }
}

bool AxisHints::InGroup(NodeId id) const { return std::binary_search(group_.nodes.begin(), group_.nodes.end(), id); }

AxisHints::Dims AxisHints::Blank(Value value) const {
  Dims dims;
  for (const DimExpr& dim_size : context_.graph.type(value).shape) {
    dims.push_back(ProvablyOne(context_.facts, dim_size) ? kUnitDim : kUnknownAxis);
  }
  return dims;
}

AxisHints::Dims AxisHints::Identity(Value value) const {
  Dims dims = Blank(value);
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] != kUnitDim) dims[d] = static_cast<int>(d);
  }
  return dims;
}

void AxisHints::Seed() {
  if (group_.kind == GroupKind::kContraction) {
    of_[{group_.dominant, 0}] = Identity({group_.dominant, 0});
    return;
  }
  if (group_.kind == GroupKind::kScan) {
    const auto scanned = static_cast<size_t>(context_.graph.node(group_.dominant).i64("axis"));
    int next = 0;
    Dims& dims = of_[{group_.dominant, 0}];
    for (size_t d = 0; d < dims.size(); ++d) {
      const int axis = d == scanned ? static_cast<int>(dims.size()) - 1 : next++;
      if (dims[d] != kUnitDim) dims[d] = axis;
    }
    return;
  }
  Dims& domain = domain_[group_.dominant];
  const OperandMap& map = context_.maps.of(group_.dominant, 0);
  int axis = 0;
  for (bool tile : {false, true}) {
    for (size_t d = 0; d < domain.size(); ++d) {
      if ((map.dims[d] == kReducedDim) != tile) continue;
      if (domain[d] != kUnitDim) domain[d] = axis;
      ++axis;
    }
  }
}

void AxisHints::SpreadAll(Carriers carriers) {
  for (size_t i = 0; i < links_.size(); ++i) pending_.insert(pending_.end(), i);
  SpreadPending(carriers);
}

// Visits pending links in ascending order, wrapping around; the order decides which hint wins.
void AxisHints::SpreadPending(Carriers carriers) {
  while (!pending_.empty()) {
    for (auto next = pending_.begin(); next != pending_.end();) {
      const size_t link = *next;
      pending_.erase(next);
      CountVisits();
      Spread(links_[link], carriers);
      next = pending_.upper_bound(link);
    }
  }
}

void AxisHints::Spread(const Link& link, Carriers carriers) {
  const bool carries = carriers == Carriers::kValues || link.in_group;
  const auto agree = [&](Dims& a, size_t i, Dims& b, size_t j) {
    if (const int* changed = Agree(a[i], b[j])) Touch(changed == &a[i] ? a : b);
  };
  if (link.reduces && carries) {
    for (size_t d = 0; d < link.source->size(); ++d) agree(*link.source, d, *link.operand, d);
  }
  if (!link.reduces && !carries) return;
  for (size_t d = 0; d < link.source->size(); ++d) {
    if (link.map->dims[d] >= 0) agree(*link.source, d, *link.result, link.map->dims[d]);
  }
}

void AxisHints::Touch(const Dims& dims) {
  const auto links = links_at_.find(&dims);
  if (links != links_at_.end()) pending_.insert(links->second.begin(), links->second.end());
}

// Gives the first reduction or output with unknown dims the unused axes of equal dim size.
bool AxisHints::MatchDimSizes() {
  if (group_.kind != GroupKind::kRow) return false;
  const Graph& graph = context_.graph;
  for (auto& [id, domain] : domain_) {
    const Shape& shape = graph.type(graph.node(id).operands[0]).shape;
    if (MatchDims(shape, domain, &context_.maps.of(id, 0))) return true;
  }
  for (Value output : group_.outputs) {
    NodeId id = output.node;
    while (ClassOf(graph.node(id)) == FusionClass::kView) id = graph.node(id).operands[0].node;
    if (InGroup(id) && MatchDims(graph.type({id, 0}).shape, of_[{id, 0}], nullptr)) return true;
  }
  return false;
}

bool AxisHints::MatchDims(const Shape& shape, Dims& axes, const OperandMap* reduction) {
  bool changed = false;
  for (size_t d = 0; d < axes.size(); ++d) {
    if (axes[d] != kUnknownAxis) continue;
    for (int a = 0; a < static_cast<int>(group_.axes.size()); ++a) {
      if (reduction != nullptr && group_.axes[a].tile != (reduction->dims[d] == kReducedDim)) continue;
      if (std::find(axes.begin(), axes.end(), a) != axes.end()) continue;
      if (!context_.facts.ProvablyEqual(shape[d], group_.axes[a].dim_size)) continue;
      axes[d] = a;
      changed = true;
      break;
    }
  }
  if (changed) Touch(axes);
  return changed;
}

}  // namespace tailor
