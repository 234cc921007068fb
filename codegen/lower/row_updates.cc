#include "codegen/lower/row_updates.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace tailor::lower {
namespace {

bool SetsOneRow(const Graph& graph, const ShapeFacts& facts, const HostDecisions& on_host, const Node& node) {
  if (node.string("combiner") != "set") return false;
  const std::optional<DimExpr> row = on_host.ValueOf(node.operands[1]);
  const Shape& shape = graph.type(node.operands[0]).shape;
  if (!row || graph.type(node.operands[1]).shape.back() != DimExpr(1)) return false;
  return facts.RangeOf(*row).min >= 0 && facts.RangeOf(shape[0] - *row - 1).min >= 0;
}

bool IsIn(const std::vector<Value>& values, Value v) {
  return std::find(values.begin(), values.end(), v) != values.end();
}

}  // namespace

RowUpdates::RowUpdates(const Graph& graph, const ShapeFacts& facts, const FusionPlan& plan,
                       const HostDecisions& on_host)
    : graph_(graph), facts_(facts), on_host_(on_host) {
  for (int s = 0; s < static_cast<int>(plan.groups.size()); ++s) {
    if (plan.groups[s].kind != GroupKind::kScatter) continue;
    const NodeId id = plan.groups[s].dominant;
    const Node& node = graph.node(id);
    if (!SetsOneRow(graph, facts, on_host, node)) continue;
    // The group that computes the row, if it and those after it neither read nor write what the scatter overwrites.
    for (int g = s - 1; g >= 0; --g) {
      const FusionGroup& group = plan.groups[g];
      if (IsIn(group.inputs, node.operands[0]) || IsIn(group.outputs, node.operands[0])) break;
      if (!IsIn(group.outputs, node.operands[2])) continue;
      if (group.kind == GroupKind::kLoop) scatters_[g].push_back(id);
      break;
    }
  }
}

const std::vector<NodeId>& RowUpdates::of(int g) const {
  static const std::vector<NodeId> kNone;
  const auto it = scatters_.find(g);
  return it == scatters_.end() ? kNone : it->second;
}

bool RowUpdates::Add(NodeId id, LoweredKernel& kernel) const {
  KernelPlan& plan = kernel.plan;
  const Node& node = graph_.node(id);
  const auto has_memory = [](const Buffer& buffer) {
    return buffer.kind == BufferKind::kInput || buffer.kind == BufferKind::kOutput;
  };
  if (!std::holds_alternative<LoopForm>(plan.form) ||
      !std::all_of(plan.buffers.begin(), plan.buffers.end(), has_memory)) {
    return false;
  }
  const auto computed = std::find_if(kernel.operands.begin(), kernel.operands.end(),
                                     [&](const LoweredKernel::Operand& o) { return o.value == node.operands[2]; });
  const auto buffer = static_cast<int>(computed - kernel.operands.begin());
  for (Stage& stage : plan.stages) {
    for (const Statement& statement : stage.statements) {
      if (statement.buffer != buffer || !statement.reduce_axes.empty()) continue;
      const TensorType& type = node.results[0];
      const auto size = [&](const DimExpr& dim) { return plan.AddDim({.value = facts_.Canonical(dim)}); };
      Buffer updated{.kind = BufferKind::kOutput, .dtype = type.dtype, .dims = plan.buffers[buffer].dims};
      updated.dims.insert(updated.dims.begin(), size(type.shape[0]));
      Statement store = statement;
      store.buffer = static_cast<int>(plan.buffers.size());
      const DimSize row = size(*on_host_.ValueOf(node.operands[1]));
      store.indices.insert(store.indices.begin(), plan.Add({.kind = ExprKind::kDimSize, .dim_size = row}));
      plan.buffers.push_back(std::move(updated));
      kernel.operands.push_back({.value = {id, 0}, .dtype = type.dtype, .shape = type.shape});
      stage.statements.push_back(std::move(store));
      return true;
    }
  }
  return false;
}

}  // namespace tailor::lower
