// ai.onnx.preview.FlexAttention: attention whose scores and probabilities subgraphs change.
#include <cmath>
#include <string>

#include "bindings/frontend/error.h"
#include "bindings/onnx/graph_importer.h"
#include "bindings/onnx/node.h"

namespace tailor::onnx {
namespace {

using frontend::Cast;
using frontend::Dims;
using frontend::Dot;
using frontend::Fail;
using frontend::Reshape;
using frontend::Shape;
using frontend::Tensor;

// x [B, H, M, N] as the subgraph `attribute` changes it; x if the node has none.
Tensor Modified(const Node& node, const char* attribute, const Tensor& x) {
  if (!node.Has(attribute)) return x;
  const GraphProto& graph = node.Graph(attribute);
  if (graph.inputs.size() != 1 || graph.outputs.size() != 1) {
    Fail(std::string(attribute) + " needs one input and one output");
  }
  Scope scope(&node.scope());
  scope.Set(graph.inputs[0].name, x);
  const Tensor out = node.importer().ImportSubgraph(graph, node.opsets(), scope, node.depth() + 1)[0];
  if (out.rank() != 4 || out.dtype() != x.dtype()) Fail(std::string(attribute) + " changes the type of its input");
  return out;
}

// The dtype of scores and probabilities.
DType Precision(const Node& node) {
  if (node.Has("softmax_precision")) return node.TypeOf("softmax_precision");
  return node[0].dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
}

// q [B, Hq, M, D], k [B, Hk, N, D] and v [B, Hk, N, E], with Hq a multiple of Hk -> [B, Hq, M, E]. Groups of Hq / Hk
// query heads share a key head by broadcasting.
Tensors FlexAttention(const Node& node) {
  const Tensor &q = node[0], &k = node[1], &v = node[2];
  if (q.rank() != 4 || k.rank() != 4 || v.rank() != 4) Fail("its operands do not have rank 4");
  if (!IsFloat(q.dtype())) Fail("its operands are no floats");
  Dims& dims = node.dims();
  const bool grouped = dims.IsEqual(q.dim(1), k.dim(1)) != true;
  const Shape outer = {q.dim(0), q.dim(1)};
  const Shape groups = {q.dim(0), k.dim(1), grouped ? dims.FloorDiv(q.dim(1), k.dim(1)) : frontend::Dim(1)};
  const auto split = [&](const Tensor& x, const Shape& heads) {
    if (!grouped) return x;
    Shape shape = heads;
    shape.insert(shape.end(), {x.dim(2), x.dim(3)});
    return Reshape(x, shape);
  };
  const Shape shared = {k.dim(0), k.dim(1), 1};
  const DType precision = Precision(node);
  double scale = node.Float("scale", 0);
  if (!node.Has("scale")) {
    if (!q.dim(3).known() || q.dim(3).number() == 0)
      frontend::Unsupported("without scale, the head size has to be fixed");
    scale = 1 / std::sqrt(static_cast<double>(q.dim(3).number()));
  }
  const Tensor product = Dot(split(Cast(q, precision), groups), split(Cast(k, precision), shared),
                             /*transpose_lhs=*/false, /*transpose_rhs=*/true) *
                         scale;
  const Shape scores_shape = {outer[0], outer[1], q.dim(2), k.dim(2)};
  const Tensor scores = Modified(node, "score_mod", Reshape(product, scores_shape));
  const Tensor probabilities = Modified(node, "prob_mod", frontend::Softmax(scores, -1));
  const Tensor out = Dot(split(probabilities, groups), split(Cast(v, precision), shared));
  return {Cast(Reshape(out, {outer[0], outer[1], q.dim(2), v.dim(3)}), q.dtype())};
}

constexpr OperatorRow kFlexAttentionRows[] = {
    {"ai.onnx.preview", "FlexAttention", 1, "Q K V", "Y",
     "prob_mod:graph scale:float score_mod:graph softmax_precision:int", FlexAttention},
};

}  // namespace

std::span<const OperatorRow> FlexAttentionOperators() { return kFlexAttentionRows; }

}  // namespace tailor::onnx
