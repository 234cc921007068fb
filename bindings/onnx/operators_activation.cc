// Activation functions.
#include <string>

#include "bindings/frontend/error.h"
#include "bindings/onnx/log1p.h"
#include "bindings/onnx/node.h"
#include "bindings/onnx/operators.h"

namespace tailor::onnx {
namespace {

using frontend::Shape;
using frontend::Sigmoid;
using frontend::Tanh;
using frontend::Tensor;

Tensor Relu(const Tensor& x) { return Max(x, 0); }

// log(1 + e^x), without overflow.
Tensor Softplus(const Tensor& x) {
  return ThroughF32(x, [](const Tensor& wide) { return Max(wide, 0.0) + Log1p(Exp(-Abs(wide))); });
}

Tensor Softsign(const Tensor& x) { return x / (Abs(x) + 1.0); }

Tensor Mish(const Tensor& x) { return x * Tanh(Softplus(x)); }

Tensor HardSwish(const Tensor& x) { return x * Max(Min(x * (1.0 / 6) + 0.5, 1.0), 0.0); }

Tensor WithNegative(const Tensor& x, const Tensor& negative) { return Select(x < 0, negative, x); }

Tensors LeakyRelu(const Node& node) { return {WithNegative(node[0], node[0] * node.Float("alpha"))}; }

Tensors PRelu(const Node& node) {
  const Tensor& x = node[0];
  Tensor slope = node[1];
  if (node.opset() < 7 && slope.rank() == 1 && x.rank() > 1) {  // [C] or [1], for x [N, C, D...]
    Shape shape(static_cast<size_t>(x.rank() - 1), 1);
    shape[0] = slope.dim(0);
    slope = Reshape(slope, shape);
  }
  return {WithNegative(x, x * slope)};
}

Tensors Elu(const Node& node) {
  const Tensor& x = node[0];
  return {WithNegative(x, (Exp(x) - 1.0) * node.Float("alpha"))};
}

Tensors Selu(const Node& node) {
  const Tensor& x = node[0];
  return {WithNegative(x, (Exp(x) - 1.0) * node.Float("alpha")) * node.Float("gamma")};
}

Tensors Celu(const Node& node) {
  const Tensor& x = node[0];
  const double alpha = node.Float("alpha");
  return {WithNegative(x, (Exp(x / alpha) - 1.0) * alpha)};
}

Tensors ThresholdedRelu(const Node& node) {
  const Tensor& x = node[0];
  return {Select(x > node.Float("alpha"), x, 0.0)};
}

Tensors HardSigmoid(const Node& node) {
  const Tensor line = node[0] * node.Float("alpha") + node.Float("beta");
  return {Max(Min(line, 1.0), 0.0)};
}

Tensors Gelu(const Node& node) {
  const std::string approximate = node.String("approximate");
  if (approximate == "tanh") return {GeluTanh(node[0])};
  if (approximate != "none") frontend::Fail("approximate is \"" + approximate + "\"");
  return {Gelu(node[0])};
}

Tensors Swish(const Node& node) {
  const Tensor& x = node[0];
  const double alpha = node.Float("alpha");
  return {x * Sigmoid(alpha == 1 ? x : x * alpha)};
}

Tensors Shrink(const Node& node) {
  const Tensor& x = node[0];
  const double bias = node.Float("bias"), bound = node.Float("lambd");
  const Tensor wide = IsFloat(x.dtype()) ? x : Cast(x, DType::kF32);
  const Tensor inner = Select(wide > bound, wide - bias, 0.0);
  return {Cast(Select(wide < -bound, wide + bias, inner), x.dtype())};
}

constexpr OperatorRow kActivationRows[] = {
    {"", "Celu", 12, "X", "Y", "alpha:float=1.0", Celu},
    {"", "Elu", 6, "X", "Y", "alpha:float=1.0", Elu},
    {"", "Gelu", 20, "X", "Y", "approximate:string=none", Gelu},
    {"", "HardSigmoid", 6, "X", "Y", "alpha:float=0.2 beta:float=0.5", HardSigmoid},
    {"", "HardSwish", 14, "X", "Y", "", Formula<HardSwish>},
    {"", "LeakyRelu", 6, "X", "Y", "alpha:float=0.01", LeakyRelu},
    {"", "Mish", 18, "X", "Y", "", Formula<Mish>},
    {"", "PRelu", 6, "X slope", "Y", "", PRelu},
    {"", "Relu", 6, "X", "Y", "", Formula<Relu>},
    {"", "Selu", 6, "X", "Y", "alpha:float=1.6732632 gamma:float=1.050701", Selu},
    {"", "Shrink", 9, "input", "output", "bias:float=0.0 lambd:float=0.5", Shrink},
    {"", "Sigmoid", 6, "X", "Y", "", Formula<Sigmoid>},
    {"", "Softplus", 1, "X", "Y", "", Formula<Softplus>},
    {"", "Softsign", 1, "input", "output", "", Formula<Softsign>},
    {"", "Swish", 24, "X", "Y", "alpha:float=1.0", Swish},
    {"", "Tanh", 6, "input", "output", "", Formula<Tanh>},
    {"", "ThresholdedRelu", 10, "X", "Y", "alpha:float=1.0", ThresholdedRelu},
};

}  // namespace

std::span<const OperatorRow> ActivationOperators() { return kActivationRows; }

}  // namespace tailor::onnx
