#include "codegen/lower/offered_product.h"

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

// What is in memory where `v` is: itself, or what the group reads as `v` through reshapes.
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

// Where the kernel reads a constant's panels, they are the right operand.
bool SetRightOperand(const Graph& graph, const FusionGroup& group, const std::vector<LoweredKernel>& kernels,
                     OfferedProduct& product) {
  const Node& dot = graph.node(group.dominant);
  const Value rhs = dot.operands[1];
  if (kernels.size() > 1) {  // the first packs it
    const std::optional<Value> source = InMemory(graph, group, rhs);
    if (!source) return false;
    product.rhs = RowMajor(graph, *source);
    SetStrides(product.k, product.n, dot.i64("transpose_rhs") != 0, product.rhs_strides);
    return true;
  }
  for (const LoweredKernel::Operand& operand : kernels[0].operands) {
    if (operand.layout == ConstantLayout::kRowMajor || operand.layout == ConstantLayout::kWinogradPanels16) continue;
    if (operand.value != rhs && graph.type(operand.value).rank() != 2) return false;
    const bool pairs = operand.layout == ConstantLayout::kPairPanels16;
    const DimExpr rows = pairs ? 2 * DimExpr::CeilDiv(product.k, 2) : product.k;
    product.rhs = operand;
    product.rhs_strides[0] = kPanelColumns * DimExpr::CeilDiv(product.n, kPanelColumns) * rows;
    product.rhs_strides[1] = product.rhs_strides[2] = DimExpr(0);
    return true;
  }
  return false;
}

bool AllValid(const OfferedProduct& product) {
  const auto valid = [](const DimExpr& dim) { return dim.valid(); };
  return product.batch.valid() && product.m.valid() &&
         std::all_of(std::begin(product.lhs_strides), std::end(product.lhs_strides), valid) &&
         std::all_of(std::begin(product.rhs_strides), std::end(product.rhs_strides), valid);
}

}  // namespace

std::optional<OfferedProduct> OfferProduct(const Graph& graph, const ShapeFacts& facts, const FusionGroup& group,
                                           const std::vector<LoweredKernel>& kernels, bool takes_f16) {
  const Node& dot = graph.node(group.dominant);
  const TensorType &lhs = graph.type(dot.operands[0]), &rhs = graph.type(dot.operands[1]);
  const DType dtype = dot.results[0].dtype;
  const bool known = dtype == DType::kF32 || dtype == DType::kBF16 || (takes_f16 && dtype == DType::kF16);
  if (!known || lhs.dtype != dtype || rhs.dtype != dtype) return std::nullopt;
  const std::optional<Value> left = InMemory(graph, group, dot.operands[0]);
  if (!left) return std::nullopt;

  const size_t k = group.axes.size() - 1;
  OfferedProduct product{.lhs = RowMajor(graph, *left), .out = RowMajor(graph, {group.dominant, 0})};
  product.batch = DimExpr(1);
  product.m = group.axes[k - 2].extent;
  product.n = group.axes[k - 1].extent;
  product.k = group.axes[k].extent;
  const bool transposed = dot.i64("transpose_lhs") != 0;
  SetStrides(product.m, product.k, transposed, product.lhs_strides);
  if (!SetRightOperand(graph, group, kernels, product)) return std::nullopt;
  if (rhs.rank() == 2 && !transposed) {
    product.m = product.m * BatchOf(lhs.shape);
  } else {
    if (lhs.rank() != rhs.rank()) return std::nullopt;
    for (int d = 0; d + 2 < lhs.rank(); ++d) {
      if (!facts.ProvablyEqual(lhs.shape[d], rhs.shape[d])) return std::nullopt;
    }
    product.batch = BatchOf(lhs.shape);
  }
  return AllValid(product) ? std::optional(product) : std::nullopt;
}

std::vector<FusionGroup> GroupsAfterProduct(const Graph& graph, const FusionGroup& group) {
  std::vector<FusionGroup> after;
  for (const Value output : group.outputs) {
    if (output.node == group.dominant) continue;
    std::set<NodeId> nodes = {output.node};
    std::set<Value> inputs;
    for (auto id = group.nodes.rbegin(); id != group.nodes.rend(); ++id) {  // users come before what they use
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
    for (const DimExpr& extent : graph.type(output).shape) loop.axes.push_back({extent});
    after.push_back(std::move(loop));
  }
  return after;
}

}  // namespace tailor::lower
