#include "codegen/lower/offered_gemm.h"

#include <algorithm>
#include <set>

#include "codegen/contract/panels.h"

namespace tailor::lower {
namespace {

bool Contains(const std::vector<NodeId>& nodes, NodeId id) {
  return std::find(nodes.begin(), nodes.end(), id) != nodes.end();
}

LoweredKernel::Operand RowMajor(const Graph& graph, Value v) {
  return {.value = v, .dtype = graph.type(v).dtype, .shape = graph.type(v).shape};
}

// The value in memory with the elements of `v`: itself, or the value that the group reads as `v` through reshapes.
std::optional<Value> InMemory(const Graph& graph, const FusionGroup& group, Value v) {
  while (Contains(group.nodes, v.node)) {
    if (graph.node(v.node).op != OpKind::kReshape) return std::nullopt;
    v = graph.node(v.node).operands[0];
  }
  return v;
}

DimExpr BatchOf(const Shape& shape) { return ElementCount(Shape(shape.begin(), shape.end() - 2)); }

// Strides of a dense [batch..., rows, columns], or of its transpose.
void SetStrides(const DimExpr& rows, const DimExpr& columns, bool transposed, DimExpr* strides) {
  strides[0] = rows * columns;
  strides[1] = transposed ? DimExpr(1) : columns;
  strides[2] = transposed ? rows : DimExpr(1);
}

bool ReadsPanels(const LoweredKernel& kernel) {
  return std::any_of(kernel.operands.begin(), kernel.operands.end(),
                     [](const LoweredKernel::Operand& operand) { return operand.layout != ConstantLayout::kRowMajor; });
}

// Sets the rhs; if the kernel reads a constant's panels, the rhs is in panels too.
bool SetRhs(const Graph& graph, const FusionGroup& group, const std::vector<LoweredKernel>& kernels,
            OfferedGemm& gemm) {
  const Node& dot = graph.node(group.dominant);
  const Value rhs = dot.operands[1];
  if (kernels.size() > 1 || !ReadsPanels(kernels[0])) {  // the rhs is in memory; the first of several kernels packs it
    const std::optional<Value> source = InMemory(graph, group, rhs);
    if (!source) return false;
    gemm.rhs = RowMajor(graph, *source);
    SetStrides(gemm.k, gemm.n, dot.i64("transpose_rhs") != 0, gemm.rhs_strides);
    return true;
  }
  for (const LoweredKernel::Operand& operand : kernels[0].operands) {
    if (operand.layout == ConstantLayout::kRowMajor || operand.layout == ConstantLayout::kWinogradPanels16) continue;
    if (operand.value != rhs && graph.type(operand.value).rank() != 2) return false;
    const int steps = StepsPerWord(operand.layout, operand.dtype);
    const DimExpr rows = steps * DimExpr::CeilDiv(gemm.k, steps);
    gemm.rhs = operand;
    gemm.rhs_strides[0] = kPanelColumns * DimExpr::CeilDiv(gemm.n, kPanelColumns) * rows;
    gemm.rhs_strides[1] = gemm.rhs_strides[2] = DimExpr(0);
    return true;
  }
  return false;
}

bool AllValid(const OfferedGemm& gemm) {
  const auto valid = [](const DimExpr& dim) { return dim.valid(); };
  return gemm.batch.valid() && gemm.m.valid() &&
         std::all_of(std::begin(gemm.lhs_strides), std::end(gemm.lhs_strides), valid) &&
         std::all_of(std::begin(gemm.rhs_strides), std::end(gemm.rhs_strides), valid);
}

}  // namespace

std::optional<OfferedGemm> OfferGemm(const Graph& graph, const ShapeFacts& facts, const FusionGroup& group,
                                     const std::vector<LoweredKernel>& kernels, bool takes_f16) {
  const Node& dot = graph.node(group.dominant);
  const TensorType &lhs_type = graph.type(dot.operands[0]), &rhs_type = graph.type(dot.operands[1]);
  const DType dtype = dot.results[0].dtype;
  const bool known = dtype == DType::kF32 || dtype == DType::kBF16 || (takes_f16 && dtype == DType::kF16);
  if (!known || lhs_type.dtype != dtype || rhs_type.dtype != dtype) return std::nullopt;
  const std::optional<Value> lhs = InMemory(graph, group, dot.operands[0]);
  if (!lhs) return std::nullopt;

  const size_t k = group.axes.size() - 1;
  OfferedGemm gemm{.lhs = RowMajor(graph, *lhs), .out = RowMajor(graph, {group.dominant, 0})};
  gemm.batch = DimExpr(1);
  gemm.m = group.axes[k - 2].dim_size;
  gemm.n = group.axes[k - 1].dim_size;
  gemm.k = group.axes[k].dim_size;
  const bool transposed = dot.i64("transpose_lhs") != 0;
  SetStrides(gemm.m, gemm.k, transposed, gemm.lhs_strides);
  if (!SetRhs(graph, group, kernels, gemm)) return std::nullopt;
  if (rhs_type.rank() == 2 && !transposed) {
    gemm.m = gemm.m * BatchOf(lhs_type.shape);
  } else {
    if (lhs_type.rank() != rhs_type.rank()) return std::nullopt;
    for (int d = 0; d + 2 < lhs_type.rank(); ++d) {
      if (!facts.ProvablyEqual(lhs_type.shape[d], rhs_type.shape[d])) return std::nullopt;
    }
    gemm.batch = BatchOf(lhs_type.shape);
  }
  return AllValid(gemm) ? std::optional(gemm) : std::nullopt;
}

std::vector<FusionGroup> GroupsAfterGemm(const Graph& graph, const FusionGroup& group) {
  std::vector<FusionGroup> after;
  for (const Value output : group.outputs) {
    if (output.node == group.dominant) continue;
    std::set<NodeId> nodes = {output.node};
    std::set<Value> inputs;
    for (auto id = group.nodes.rbegin(); id != group.nodes.rend(); ++id) {  // users before their operands
      if (!nodes.contains(*id)) continue;
      for (const Value operand : graph.node(*id).operands) {
        if (operand.node != group.dominant && Contains(group.nodes, operand.node)) {
          nodes.insert(operand.node);
        } else {
          inputs.insert(operand);
        }
      }
    }
    FusionGroup loop{.kind = GroupKind::kLoop};
    loop.nodes.assign(nodes.begin(), nodes.end());
    loop.inputs.assign(inputs.begin(), inputs.end());
    loop.outputs = {output};
    for (const DimExpr& dim_size : graph.type(output).shape) loop.axes.push_back({dim_size});
    after.push_back(std::move(loop));
  }
  return after;
}

}  // namespace tailor::lower
