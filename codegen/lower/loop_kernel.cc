#include "codegen/lower/loop_kernel.h"

#include <algorithm>
#include <functional>

#include "analysis/reshape_groups.h"

namespace tailor::lower {
namespace {

// Whether each dim of `to` is a product of dims of `from`, without vectors along a last dim that may be short.
bool OnlyMerges(const ShapeFacts& facts, const Shape& from, const Shape& to) {
  constexpr int64_t kShort = 32;
  if (from.empty() || to.empty()) return false;
  const auto is_one = [&](const DimExpr& dim) { return facts.Canonical(dim) == DimExpr(1); };
  for (const ReshapeGroup& g : MatchReshape(from, to, facts)) {
    if (std::count_if(to.begin() + g.to_begin, to.begin() + g.to_end, std::not_fn(is_one)) > 1) return false;
  }
  return facts.ProvablyEqual(from.back(), to.back()) || facts.RangeOf(from.back()).min >= kShort;
}

// The reshapes that compute the only output and merge dims, last one first.
std::vector<NodeId> MergesOf(const Graph& graph, const ShapeFacts& facts, const FusionGroup& group,
                             const ValueLowering& values) {
  std::vector<NodeId> merges;
  if (group.outputs.size() != 1) return merges;
  for (Value v = group.outputs[0]; graph.node(v.node).op == OpKind::kReshape; v = graph.node(v.node).operands[0]) {
    const Value operand = graph.node(v.node).operands[0];
    if (!values.InGroup(operand.node) || !OnlyMerges(facts, graph.type(operand).shape, graph.type(v).shape)) break;
    merges.push_back(v.node);
  }
  return merges;
}

}  // namespace

ValueLowering LoopKernel(const Graph& graph, const ShapeFacts& facts, const FusionGroup& group) {
  ValueLowering values(graph, facts, group);
  const std::vector<NodeId> merges = MergesOf(graph, facts, group, values);
  const Value looped = merges.empty() ? group.outputs[0] : graph.node(merges.back()).operands[0];
  ValueLowering::Index axes;
  for (const DimExpr& dim_size : graph.type(looped).shape) {
    values.plan.axes.push_back({values.DimSizeOf(dim_size), AxisRole::kParallel});
    axes.push_back(values.Axis(static_cast<int>(axes.size())));
  }
  Stage stage;
  for (Value v : group.outputs) {
    ValueLowering::Index index = axes;
    for (auto merge = merges.rbegin(); merge != merges.rend(); ++merge) index = values.Forward(*merge, index);
    const ExprId value = values.At(merges.empty() ? v : looped, axes);
    stage.statements.push_back({.buffer = values.OutputBuffer(v), .indices = index, .value = value});
  }
  values.plan.stages.push_back(std::move(stage));
  return values;
}

}  // namespace tailor::lower
