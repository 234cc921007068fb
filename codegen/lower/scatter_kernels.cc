#include "codegen/lower/scatter_kernels.h"

#include <string>

#include "codegen/plan/combiner.h"

namespace tailor::lower {
namespace {

using Index = ValueLowering::Index;

// A loop that stores `x` to the buffer that `add_output` adds.
template <typename AddOutput>
ValueLowering Copy(const Graph& graph, const ShapeFacts& facts, const FusionGroup& group, Value x,
                   AddOutput add_output) {
  ValueLowering values(graph, facts, group);
  Index all;
  for (const DimExpr& dim_size : graph.type(x).shape) {
    values.plan.axes.push_back({values.DimSizeOf(dim_size), AxisRole::kParallel});
    all.push_back(values.Axis(static_cast<int>(all.size())));
  }
  const ExprId value = values.At(x, all);
  const int out = add_output(values);
  values.plan.stages.push_back({.axes = {}, .statements = {{.buffer = out, .indices = all, .value = value}}});
  return values;
}

ValueLowering Update(const Graph& graph, const ShapeFacts& facts, const FusionGroup& group) {
  ValueLowering values(graph, facts, group);
  const Node& node = graph.node(group.dominant);
  const Value x = node.operands[0], indices = node.operands[1];
  std::vector<int> ordered;
  Index number, covered;  // number: of the update; covered: index within it
  for (size_t a = 0; a < group.axes.size(); ++a) {
    const bool tile = group.axes[a].tile;
    values.plan.axes.push_back(
        {values.DimSizeOf(group.axes[a].dim_size), tile ? AxisRole::kOrdered : AxisRole::kParallel});
    (tile ? number : covered).push_back(values.Axis(static_cast<int>(a)));
    if (tile) ordered.push_back(static_cast<int>(a));
  }
  Index target, update = number;
  for (int64_t d = 0; d < *graph.type(indices).shape.back().constant(); ++d) {
    Index position = number;
    position.push_back(values.Dim(d));
    target.push_back(values.GatherIndexOf(group.dominant, x, d, values.At(indices, position)));
  }
  target.insert(target.end(), covered.begin(), covered.end());
  update.insert(update.end(), covered.begin(), covered.end());
  const int out = values.OutputBuffer({group.dominant, 0});
  const DType dtype = node.results[0].dtype;
  ExprId value = values.At(node.operands[2], update);
  if (const std::string& combiner = node.string("combiner"); combiner != "set") {
    const ExprId before = values.plan.Add({.kind = ExprKind::kLoad, .dtype = dtype, .ref = out, .args = target});
    value = values.Op(CombinerOf(combiner), dtype, {before, value});
  }
  values.plan.stages.push_back({.axes = ordered, .statements = {{.buffer = out, .indices = target, .value = value}}});
  return values;
}

}  // namespace

std::vector<ValueLowering> ScatterKernels(const Graph& graph, const ShapeFacts& facts, const FusionGroup& group,
                                          bool in_place) {
  std::vector<ValueLowering> kernels;
  if (!in_place) {
    kernels.push_back(Copy(graph, facts, group, graph.node(group.dominant).operands[0], [&](ValueLowering& values) {
      return values.OutputBuffer({group.dominant, 0});
    }));
  }
  kernels.push_back(Update(graph, facts, group));
  return kernels;
}

ValueLowering CopyKernel(const Graph& graph, const ShapeFacts& facts, const FusionGroup& nothing, Value from,
                         int packed) {
  const TensorType& type = graph.type(from);
  return Copy(graph, facts, nothing, from, [&](ValueLowering& values) {
    return values.AddBuffer(BufferKind::kOutput, type.dtype, type.shape,
                            {.packed = packed, .dtype = type.dtype, .shape = type.shape});
  });
}

}  // namespace tailor::lower
