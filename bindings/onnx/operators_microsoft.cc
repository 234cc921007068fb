// Operators of onnxruntime, in domain "com.microsoft", that its optimizer writes: fused activations, normalizations,
// products and convolutions.
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bindings/onnx/convolution.h"
#include "bindings/onnx/matmul.h"
#include "bindings/onnx/node.h"
#include "bindings/onnx/operators.h"

namespace tailor::onnx {
namespace {

using frontend::Fail;
using frontend::ReduceOp;
using frontend::Tensor;
using frontend::Unsupported;

Tensors Gelu(const Node& node) { return {frontend::Gelu(node[0])}; }

Tensors BiasGelu(const Node& node) { return {frontend::Gelu(node[0] + node[1])}; }

Tensors FastGelu(const Node& node) { return {GeluTanh(node[1] ? node[0] + node[1] : node[0])}; }

Tensors QuickGelu(const Node& node) {
  const double alpha = node.Float("alpha");
  return {ThroughF32(node[0], [&](const Tensor& x) { return x * Sigmoid(x * alpha); })};
}

// The operator of the default domain, over the last dim: its results, as many as its row has.
Tensors Normalized(const Node& node, std::string_view op_type, Tensors operands) {
  const int outputs = op_type == "LayerNormalization" ? 3 : 2;
  return node.CallIn("", op_type, std::move(operands), {FloatAttribute("epsilon", node.Float("epsilon"))}, outputs);
}

Tensor SkipSum(const Node& node, const Tensor& bias) {
  const Tensor sum = node[0] + node[1];
  return bias ? sum + bias : sum;
}

Tensors SkipLayerNormalization(const Node& node) {
  const Tensor sum = SkipSum(node, node[4]);
  Tensors out = Normalized(node, "LayerNormalization", {sum, node[2], node[3]});
  out.push_back(sum);
  return out;
}

Tensors SkipSimplifiedLayerNormalization(const Node& node) {
  const Tensor sum = SkipSum(node, node[3]);
  const Tensors out = Normalized(node, "SimplifiedLayerNormalization", {sum, node[2]});
  if (node.WantsOutput(1)) Unsupported("its result \"mean\" is not supported");
  return {out[0], Tensor(), out[1], sum};
}

// Words, positions and segments, added and normalized. The second result counts the ones of each row of the mask.
Tensors EmbedLayerNormalization(const Node& node) {
  const Tensor &ids = node[0], &segment_ids = node[1], &positions = node[3], &segments = node[4], &mask = node[7];
  if (ids.rank() != 2) Fail("input_ids has rank " + std::to_string(ids.rank()) + ", not 2");
  if (segment_ids && !segments) Fail("segment_ids without segment_embedding");
  Tensor sum = Gather(node[2], ids);
  sum = sum + (node[8] ? Gather(positions, node[8]) : SliceAxis(positions, 0, 0, ids.dim(1)));
  if (segment_ids) sum = sum + Gather(segments, segment_ids);
  const Tensor normal = Normalized(node, "LayerNormalization", {sum, node[5], node[6]})[0];
  const Tensor counts = mask ? Reduce(ReduceOp::kSum, Cast(Eq(mask, 1), DType::kI32), {1})
                             : Broadcast(node.builder().Scalar(DType::kI32, 0), {ids.dim(0)});
  return {normal, counts, sum};
}

// An activation that the optimizer fuses: an operator of the default domain, and its attributes.
struct Activation {
  std::string_view name;
  std::vector<std::string_view> parameters;
};

const std::vector<Activation>& Activations() {
  static const auto* activations = new std::vector<Activation>{
      {"Celu", {"alpha"}},
      {"Elu", {"alpha"}},
      {"HardSigmoid", {"alpha", "beta"}},
      {"HardSwish", {}},
      {"LeakyRelu", {"alpha"}},
      {"Relu", {}},
      {"Selu", {"alpha", "gamma"}},
      {"Sigmoid", {}},
      {"Softplus", {}},
      {"Softsign", {}},
      {"Tanh", {}},
      {"ThresholdedRelu", {"alpha"}},
  };
  return *activations;
}

// The node's activation of x. `values`: its parameters in order, from the front.
Tensor Activated(const Node& node, const Tensor& x, const std::string& name, const std::vector<double>& values) {
  if (name.empty()) return x;
  if (name == "Clip") {
    if (values.size() != 2) Fail("Clip has " + std::to_string(values.size()) + " parameters, not 2");
    return Min(Max(x, values[0]), values[1]);
  }
  for (const Activation& activation : Activations()) {
    if (activation.name != name) continue;
    std::vector<AttributeProto> attributes;
    for (size_t i = 0; i < activation.parameters.size(); ++i) {
      if (i < values.size()) attributes.push_back(FloatAttribute(activation.parameters[i], values[i]));
    }
    return node.CallIn("", activation.name, {x}, attributes)[0];
  }
  Unsupported("the activation \"" + name + "\" is not supported");
}

// The same where each parameter has its own attribute: activation_alpha, activation_beta, activation_gamma.
Tensor Activated(const Node& node, const Tensor& x) {
  const std::string name = node.Has("activation") ? node.String("activation") : "";
  std::vector<double> values;
  for (const Activation& activation : Activations()) {
    if (activation.name != name) continue;
    for (std::string_view parameter : activation.parameters) {
      const std::string attribute = "activation_" + std::string(parameter);
      if (!node.Has(attribute)) break;
      values.push_back(node.Float(attribute));
    }
  }
  return Activated(node, x, name, values);
}

// x [M, B..., K] as [B..., M, K].
Tensor BatchFirst(const Tensor& x) {
  std::vector<int64_t> order(static_cast<size_t>(x.rank()));
  std::iota(order.begin(), order.end(), 1);
  order[order.size() - 2] = 0;
  order[order.size() - 1] = x.rank() - 1;
  return Transpose(x, order);
}

Tensor Product(const Node& node) {
  Tensor a = node[0], b = node[1];
  if (node.Flag("transBatchA") && a.rank() > 2) a = BatchFirst(a);
  if (node.Flag("transBatchB") && b.rank() > 2) b = BatchFirst(b);
  const bool matrices = a.rank() >= 2 && b.rank() >= 2;
  const bool plain = !node.Flag("transA") && !node.Flag("transB");
  if (!matrices && !plain) Unsupported("a transposed product of a vector");
  const Tensor out = matrices ? Dot(a, b, node.Flag("transA"), node.Flag("transB")) : BatchedMatmul(a, b);
  const double alpha = node.Float("alpha");
  return alpha == 1.0 ? out : out * alpha;
}

Tensors FusedMatMul(const Node& node) { return {Product(node)}; }

Tensors FusedMatMulActivation(const Node& node) { return {Activated(node, Product(node))}; }

Tensors FusedGemm(const Node& node) {
  const double alpha = node.Float("alpha"), beta = node.Float("beta");
  Tensor out = Dot(node[0], node[1], node.Flag("transA"), node.Flag("transB"));
  if (alpha != 1.0) out = out * alpha;
  if (node[2] && beta != 0.0) out = out + (beta == 1.0 ? node[2] : node[2] * beta);
  return {Activated(node, out)};
}

// A convolution, then Z added, then the activation.
Tensors FusedConv(const Node& node) {
  const Tensor out = Convolution(node, node[0], node[1], node.Int("group"), node[2]);
  const std::string name = node.Has("activation") ? node.String("activation") : "";
  return {Activated(node, node[3] ? out + node[3] : out, name, node.Floats("activation_params"))};
}

constexpr const char* kMicrosoftDomain = "com.microsoft";
constexpr OperatorRow kMicrosoftRows[] = {
    {kMicrosoftDomain, "BiasGelu", 1, "A B", "C", "", BiasGelu},
    {kMicrosoftDomain, "EmbedLayerNormalization", 1,
     "input_ids segment_ids? word_embedding position_embedding segment_embedding? gamma beta mask? position_ids?",
     "output mask_index? embedding_sum?", "epsilon:float=1e-12 mask_index_type:int=0", EmbedLayerNormalization},
    {kMicrosoftDomain, "FastGelu", 1, "X bias?", "Y", "", FastGelu},
    {kMicrosoftDomain, "FusedConv", 1, "X W B? Z?", "Y",
     "activation:string activation_params:floats auto_pad:string=NOTSET dilations:ints group:int=1 kernel_shape:ints "
     "pads:ints strides:ints",
     FusedConv},
    {kMicrosoftDomain, "FusedGemm", 1, "A B C?", "Y",
     "activation:string activation_alpha:float activation_beta:float activation_gamma:float alpha:float=1.0 "
     "beta:float=1.0 transA:int=0 transB:int=0",
     FusedGemm},
    {kMicrosoftDomain, "FusedMatMul", 1, "A B", "Y",
     "alpha:float=1.0 transA:int=0 transB:int=0 transBatchA:int=0 transBatchB:int=0", FusedMatMul},
    {kMicrosoftDomain, "FusedMatMulActivation", 1, "A B", "Y",
     "activation:string! activation_alpha:float activation_axis:int activation_beta:float activation_gamma:float "
     "alpha:float=1.0 transA:int=0 transB:int=0 transBatchA:int=0 transBatchB:int=0",
     FusedMatMulActivation},
    {kMicrosoftDomain, "Gelu", 1, "X", "Y", "", Gelu},
    {kMicrosoftDomain, "QuickGelu", 1, "X", "Y", "alpha:float=1.702", QuickGelu},
    {kMicrosoftDomain, "SkipLayerNormalization", 1, "input skip gamma beta? bias?",
     "output mean? inv_std_var? input_skip_bias_sum?", "epsilon:float=1e-12", SkipLayerNormalization},
    {kMicrosoftDomain, "SkipSimplifiedLayerNormalization", 1, "input skip gamma bias?",
     "output mean? inv_std_var? input_skip_bias_sum?", "epsilon:float=1e-12", SkipSimplifiedLayerNormalization},
};

}  // namespace

std::span<const OperatorRow> MicrosoftOperators() { return kMicrosoftRows; }

}  // namespace tailor::onnx
