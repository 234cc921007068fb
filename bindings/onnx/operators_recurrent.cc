// Recurrent layers: one direction is one layer, two are two side by side.
#include <limits>
#include <string>
#include <utility>

#include "bindings/frontend/recurrence.h"
#include "bindings/onnx/node.h"

namespace tailor::onnx {
namespace {

using frontend::Dim;
using frontend::Fail;
using frontend::Recurrence;
using frontend::Shape;
using frontend::Tensor;

struct Activation {
  const char* name;  // in lower case
  const char* ours;
  bool alpha, beta;  // parameters that it takes
};

constexpr Activation kActivations[] = {
    {"relu", "relu", false, false},
    {"tanh", "tanh", false, false},
    {"sigmoid", "sigmoid", false, false},
    {"softsign", "softsign", false, false},
    {"softplus", "softplus", false, false},
    {"leakyrelu", "leaky_relu", true, false},
    {"thresholdedrelu", "thresholded_relu", true, false},
    {"elu", "elu", true, false},
    {"affine", "affine", true, true},
    {"scaledtanh", "scaled_tanh", true, true},
    {"hardsigmoid", "hard_sigmoid", true, true},
};

const Activation& ActivationNamed(const std::string& name) {
  std::string lower = name;
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  for (const Activation& activation : kActivations) {
    if (lower == activation.name) return activation;
  }
  Fail("unknown activation \"" + name + "\"");
}

// Sets the activations of each direction, of which a layer has `count`. Alphas and betas are those of the functions
// that take them, in order.
void SetActivations(const Node& node, size_t count, std::vector<Recurrence>* layers) {
  if (!node.Has("activations")) return;
  const std::vector<std::string> names = node.Strings("activations");
  if (names.empty()) return;
  if (names.size() != layers->size() * count) {
    Fail(std::to_string(names.size()) + " activations for " + std::to_string(layers->size()) + " directions of " +
         std::to_string(count));
  }
  const std::vector<double> alphas = node.Floats("activation_alpha"), betas = node.Floats("activation_beta");
  size_t next_alpha = 0, next_beta = 0;
  const auto next = [](bool takes, const std::vector<double>& values, size_t* at) {
    return takes && *at < values.size() ? values[(*at)++] : std::numeric_limits<double>::quiet_NaN();
  };
  for (size_t i = 0; i < names.size(); ++i) {
    const Activation& activation = ActivationNamed(names[i]);
    Recurrence& layer = (*layers)[i / count];
    layer.activations.push_back(activation.ours);
    layer.alphas.push_back(next(activation.alpha, alphas, &next_alpha));
    layer.betas.push_back(next(activation.beta, betas, &next_beta));
  }
}

// `count` rows from `first` of one direction, the first dim of a tensor.
Tensor RowsOf(const Tensor& tensor, int64_t direction, const Dim& first, const Dim& count) {
  if (!tensor) return Tensor();
  if (tensor.rank() < 2) Fail("an operand has rank " + std::to_string(tensor.rank()) + ", not at least 2");
  Shape starts(tensor.shape().size(), 0), sizes = tensor.shape();
  starts[0] = direction;
  starts[1] = first;
  sizes[0] = 1;
  sizes[1] = count;
  const Tensor part = Slice(tensor, starts, sizes);
  return Reshape(part, Shape(sizes.begin() + 1, sizes.end()));
}

Tensor PartOf(const Tensor& tensor, int64_t direction) {
  return tensor ? RowsOf(tensor, direction, 0, tensor.dim(1)) : Tensor();
}

// Whether each direction runs backwards.
std::vector<bool> Directions(const Node& node) {
  const std::string direction = node.String("direction");
  if (direction == "forward") return {false};
  if (direction == "reverse") return {true};
  if (direction == "bidirectional") return {false, true};
  Fail("unknown direction \"" + direction + "\"");
}

// The operands of ONNX's recurrent layers.
struct Operands {
  Tensor x, w, r, bias, lengths, h, c, peepholes;
};

void CheckWeights(const Node& node, const Operands& in, size_t directions) {
  for (const Tensor* tensor : {&in.x, &in.w, &in.r}) {
    if (tensor->rank() != 3) Fail("an operand has rank " + std::to_string(tensor->rank()) + ", not 3");
  }
  const auto text = [&](const Dim& dim) { return node.dims().Text(dim); };
  const auto count = static_cast<int64_t>(directions);
  if (!in.w.dim(0).is(count) || !in.r.dim(0).is(count)) {
    Fail(node.String("direction") + " needs weights of " + std::to_string(count) + " directions, but there are " +
         text(in.w.dim(0)) + " and " + text(in.r.dim(0)));
  }
  if (!node.Has("hidden_size") || in.r.dim(2).is(node.Int("hidden_size"))) return;
  Fail("hidden_size is " + std::to_string(node.Int("hidden_size")) + ", but the recurrent weights have " +
       text(in.r.dim(2)) + " columns");
}

// `parts` in `shape`, joined along `axis`, where shape is 1.
Tensor Joined(const Tensors& parts, const Shape& shape, int64_t axis) {
  Tensors reshaped;
  for (const Tensor& part : parts) reshaped.push_back(Reshape(part, shape));
  return Concat(reshaped, axis);
}

struct Kind {
  Recurrence::Layer layer;
  int64_t gates;
  size_t functions;  // activations of a direction
};

// One layer for each direction. `in.x`: [steps, batch, inputs].
std::vector<Recurrence> LayersOf(const Node& node, const Kind& kind, const Operands& in,
                                 const std::vector<bool>& directions) {
  const Dim rows = node.dims().Mul(in.r.dim(2), kind.gates);
  std::vector<Recurrence> layers;
  for (size_t i = 0; i < directions.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    Recurrence& layer = layers.emplace_back();
    layer.layer = kind.layer;
    layer.x = in.x;
    layer.w = PartOf(in.w, at);
    layer.r = PartOf(in.r, at);
    layer.bias = RowsOf(in.bias, at, 0, rows);
    layer.recurrent_bias = RowsOf(in.bias, at, rows, rows);
    layer.initial_h = PartOf(in.h, at);
    layer.initial_c = PartOf(in.c, at);
    layer.lengths = in.lengths;
    layer.peepholes = PartOf(in.peepholes, at);
    layer.reverse = directions[i];
    layer.linear_before_reset = kind.layer == Recurrence::Layer::kGru && node.Flag("linear_before_reset");
    layer.input_forget = kind.layer == Recurrence::Layer::kLstm && node.Flag("input_forget");
    layer.clip = node.Float("clip", std::numeric_limits<double>::infinity());
  }
  SetActivations(node, kind.functions, &layers);
  return layers;
}

// Y and the states after the last step, as ONNX has them.
Tensors Layer(const Node& node, const Kind& kind, Operands in) {
  const std::vector<bool> directions = Directions(node);
  const bool batch_first = node.Int("layout", 0) != 0;
  CheckWeights(node, in, directions.size());
  if (batch_first) {
    in.x = Transpose(in.x, {1, 0, 2});
    if (in.h) in.h = Transpose(in.h, {1, 0, 2});
    if (in.c) in.c = Transpose(in.c, {1, 0, 2});
  }
  std::vector<Tensors> columns;  // results of each kind, one for each direction
  for (const Recurrence& layer : LayersOf(node, kind, in, directions)) {
    const Tensors results = AppendRecurrence(layer);
    columns.resize(results.size());
    for (size_t i = 0; i < results.size(); ++i) columns[i].push_back(results[i]);
  }
  const Dim steps = in.x.dim(0), batch = in.x.dim(1), hidden = in.r.dim(2);
  Tensors out = {Joined(columns[0], {steps, 1, batch, hidden}, 1)};
  for (size_t i = 1; i < columns.size(); ++i) out.push_back(Joined(columns[i], {1, batch, hidden}, 0));
  if (!batch_first) return out;
  out[0] = Transpose(out[0], {2, 0, 1, 3});
  for (size_t i = 1; i < out.size(); ++i) out[i] = Transpose(out[i], {1, 0, 2});
  return out;
}

Tensors Rnn(const Node& node) {
  return Layer(node, {Recurrence::Layer::kRnn, 1, 1}, {node[0], node[1], node[2], node[3], node[4], node[5], {}, {}});
}

Tensors Gru(const Node& node) {
  return Layer(node, {Recurrence::Layer::kGru, 3, 2}, {node[0], node[1], node[2], node[3], node[4], node[5], {}, {}});
}

Tensors Lstm(const Node& node) {
  return Layer(node, {Recurrence::Layer::kLstm, 4, 3},
               {node[0], node[1], node[2], node[3], node[4], node[5], node[6], node[7]});
}

constexpr OperatorRow kRecurrentOperators[] = {
    {"", "GRU", 3, "X W R B? sequence_lens? initial_h?", "Y? Y_h?",
     "activation_alpha:floats activation_beta:floats activations:strings clip:float direction:string=forward "
     "hidden_size:int linear_before_reset:int=0 output_sequence:int=0",
     Gru},
    {"", "GRU", 7, "X W R B? sequence_lens? initial_h?", "Y? Y_h?",
     "activation_alpha:floats activation_beta:floats activations:strings clip:float direction:string=forward "
     "hidden_size:int linear_before_reset:int=0",
     Gru},
    {"", "GRU", 14, "X W R B? sequence_lens? initial_h?", "Y? Y_h?",
     "activation_alpha:floats activation_beta:floats activations:strings clip:float direction:string=forward "
     "hidden_size:int layout:int=0 linear_before_reset:int=0",
     Gru},
    {"", "LSTM", 1, "X W R B? sequence_lens? initial_h? initial_c? P?", "Y? Y_h? Y_c?",
     "activation_alpha:floats activation_beta:floats activations:strings clip:float direction:string=forward "
     "hidden_size:int input_forget:int=0 output_sequence:int=0",
     Lstm},
    {"", "LSTM", 7, "X W R B? sequence_lens? initial_h? initial_c? P?", "Y? Y_h? Y_c?",
     "activation_alpha:floats activation_beta:floats activations:strings clip:float direction:string=forward "
     "hidden_size:int input_forget:int=0",
     Lstm},
    {"", "LSTM", 14, "X W R B? sequence_lens? initial_h? initial_c? P?", "Y? Y_h? Y_c?",
     "activation_alpha:floats activation_beta:floats activations:strings clip:float direction:string=forward "
     "hidden_size:int input_forget:int=0 layout:int=0",
     Lstm},
    {"", "RNN", 1, "X W R B? sequence_lens? initial_h?", "Y? Y_h?",
     "activation_alpha:floats activation_beta:floats activations:strings=Tanh,Tanh clip:float direction:string=forward "
     "hidden_size:int output_sequence:int=0",
     Rnn},
    {"", "RNN", 7, "X W R B? sequence_lens? initial_h?", "Y? Y_h?",
     "activation_alpha:floats activation_beta:floats activations:strings=Tanh,Tanh clip:float direction:string=forward "
     "hidden_size:int",
     Rnn},
    {"", "RNN", 14, "X W R B? sequence_lens? initial_h?", "Y? Y_h?",
     "activation_alpha:floats activation_beta:floats activations:strings=Tanh,Tanh clip:float direction:string=forward "
     "hidden_size:int layout:int=0",
     Rnn},
};

}  // namespace

std::span<const OperatorRow> RecurrentOperators() { return kRecurrentOperators; }

}  // namespace tailor::onnx
