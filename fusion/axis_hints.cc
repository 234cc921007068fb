#include "fusion/axis_hints.h"

#include <algorithm>

#include "fusion/node_class.h"

namespace tailor {
namespace {

// Makes two views of one dim agree; returns whether either changed. Where both are known, neither does.
bool Link(int& a, int& b) {
  if (a == kUnknownAxis && b >= 0) {
    a = b;
    return true;
  }
  if (b == kUnknownAxis && a >= 0) {
    b = a;
    return true;
  }
  return false;
}

}  // namespace

AxisHints::AxisHints(const FusionContext& context, const FusionGroup& group) : context_(context), group_(group) {
  const Graph& graph = context_.graph;
  for (NodeId id : group_.nodes) {
    const Node& node = graph.node(id);
    of_[{id, 0}] = Blank({id, 0});
    if (IsContraction(node)) continue;
    for (int i = 0; i < static_cast<int>(node.operands.size()); ++i) {
      maps_[{id, i}] = MapOperand(graph, context_.facts, id, i);
      of_.try_emplace(node.operands[i], Blank(node.operands[i]));
    }
    if (IsReduction(node)) domain_[id] = Blank(node.operands[0]);
  }
  Seed();
  Spread(Carriers::kNodes);
  Spread(Carriers::kValues);
  while (MatchExtents()) Spread(Carriers::kValues);
}

bool AxisHints::InGroup(NodeId id) const { return std::binary_search(group_.nodes.begin(), group_.nodes.end(), id); }

std::vector<int> AxisHints::Blank(Value value) const {
  std::vector<int> dims;
  for (const DimExpr& extent : context_.graph.type(value).shape) {
    dims.push_back(ProvablyOne(context_.facts, extent) ? kUnitDim : kUnknownAxis);
  }
  return dims;
}

std::vector<int> AxisHints::Identity(Value value) const {
  std::vector<int> dims = Blank(value);
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] != kUnitDim) dims[d] = static_cast<int>(d);
  }
  return dims;
}

void AxisHints::Seed() {
  if (group_.kind == GroupKind::kLoop) {
    for (Value output : group_.outputs) of_[output] = Identity(output);
    return;
  }
  if (group_.kind == GroupKind::kContraction) {
    of_[{group_.dominant, 0}] = Identity({group_.dominant, 0});
    return;
  }
  if (group_.kind == GroupKind::kScan) {
    const auto scanned = static_cast<size_t>(context_.graph.node(group_.dominant).i64("axis"));
    int next = 0;
    std::vector<int>& dims = of_[{group_.dominant, 0}];
    for (size_t d = 0; d < dims.size(); ++d) {
      const int axis = d == scanned ? static_cast<int>(dims.size()) - 1 : next++;
      if (dims[d] != kUnitDim) dims[d] = axis;
    }
    return;
  }
  std::vector<int>& domain = domain_[group_.dominant];
  const OperandMap& map = maps_.at({group_.dominant, 0});
  int axis = 0;
  for (bool tile : {false, true}) {
    for (size_t d = 0; d < domain.size(); ++d) {
      if ((map.dims[d] == kReducedDim) != tile) continue;
      if (domain[d] != kUnitDim) domain[d] = axis;
      ++axis;
    }
  }
}

void AxisHints::Spread(Carriers carriers) {
  while (SpreadOnce(carriers)) {
  }
}

bool AxisHints::SpreadOnce(Carriers carriers) {
  bool changed = false;
  for (const auto& [use, map] : maps_) {
    auto [id, i] = use;
    const Node& node = context_.graph.node(id);
    const Value operand = node.operands[i];
    std::vector<int>& result = of_[{id, 0}];
    std::vector<int>& source = IsReduction(node) ? domain_[id] : of_[operand];
    bool carries = carriers == Carriers::kValues || InGroup(operand.node);
    if (IsReduction(node) && carries) {
      for (size_t d = 0; d < source.size(); ++d) changed |= Link(source[d], of_[operand][d]);
    }
    if (!IsReduction(node) && !carries) continue;
    for (size_t d = 0; d < source.size(); ++d) {
      if (map.dims[d] >= 0) changed |= Link(source[d], result[map.dims[d]]);
    }
  }
  return changed;
}

// Gives the first reduction or output with unknown dims the unused axes of equal extent.
bool AxisHints::MatchExtents() {
  if (group_.kind != GroupKind::kRow) return false;
  const Graph& graph = context_.graph;
  for (auto& [id, domain] : domain_) {
    const Shape& shape = graph.type(graph.node(id).operands[0]).shape;
    if (MatchDims(shape, domain, &maps_.at({id, 0}))) return true;
  }
  for (Value output : group_.outputs) {
    NodeId id = output.node;
    while (ClassOf(graph.node(id)) == FusionClass::kView) id = graph.node(id).operands[0].node;
    if (InGroup(id) && MatchDims(graph.type({id, 0}).shape, of_[{id, 0}], nullptr)) return true;
  }
  return false;
}

bool AxisHints::MatchDims(const Shape& shape, std::vector<int>& axes, const OperandMap* reduction) {
  bool changed = false;
  for (size_t d = 0; d < axes.size(); ++d) {
    if (axes[d] != kUnknownAxis) continue;
    for (int a = 0; a < static_cast<int>(group_.axes.size()); ++a) {
      if (reduction != nullptr && group_.axes[a].tile != (reduction->dims[d] == kReducedDim)) continue;
      if (std::find(axes.begin(), axes.end(), a) != axes.end()) continue;
      if (!context_.facts.ProvablyEqual(shape[d], group_.axes[a].extent)) continue;
      axes[d] = a;
      changed = true;
      break;
    }
  }
  return changed;
}

}  // namespace tailor
