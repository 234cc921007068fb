// Losses, and single steps of optimizers.
#include <string>
#include <utility>
#include <vector>

#include "bindings/frontend/error.h"
#include "bindings/onnx/indexing.h"
#include "bindings/onnx/node.h"
#include "bindings/onnx/operators.h"

namespace tailor::onnx {
namespace {

using frontend::Builder;
using frontend::Dims;
using frontend::Fail;
using frontend::ReduceOp;
using frontend::Shape;
using frontend::Tensor;

// x[n, target[n, d...], d...] of x [N, C, D...], the node's first operand or of its shape, and i64 targets [N, D...].
Tensor PickedClass(const Node& node, const Tensor& x, const Tensor& target) {
  Builder& builder = x.builder();
  std::vector<Tensor> indices = {Position(builder, target.shape(), 0), CheckedIndex(node, target, 1)};
  for (int i = 1; i < target.rank(); ++i) indices.push_back(Position(builder, target.shape(), i));
  return FlatGather(x, x.shape(), indices, target.shape());
}

Tensor Reduced(const Node& node, const Tensor& loss, const Tensor& weight) {
  std::vector<int64_t> axes;
  for (int i = 0; i < loss.rank(); ++i) axes.push_back(i);
  const std::string reduction = node.String("reduction");
  if (reduction == "none") return loss;
  if (reduction == "sum") return Reduce(ReduceOp::kSum, loss, axes);
  if (reduction != "mean") Fail("unknown reduction \"" + reduction + "\"");
  if (!weight) return Reduce(ReduceOp::kMean, loss, axes);
  return Reduce(ReduceOp::kSum, loss, axes) / Reduce(ReduceOp::kSum, weight, axes);
}

// The loss of log probabilities [N, C, D...] for `classes` [N, D...]. `weights` [C] may be absent: 1.
Tensor NegativeLogLikelihood(const Node& node, const Tensor& x, const Tensor& classes, const Tensor& weights) {
  if (x.rank() < 2 || classes.rank() != x.rank() - 1) {
    Fail("the target has rank " + std::to_string(classes.rank()) + ", the scores " + std::to_string(x.rank()));
  }
  Dims& dims = node.dims();
  dims.AssumeEqual(x.dim(0), classes.dim(0));
  for (int i = 1; i < classes.rank(); ++i) dims.AssumeEqual(x.dim(i + 1), classes.dim(i));

  const Tensor target = Cast(classes, DType::kI64);
  if (!node.Has("ignore_index")) {
    const Tensor loss = Neg(PickedClass(node, x, target));
    if (!weights) return Reduced(node, loss, {});
    const Tensor weight = Gather(weights, target);
    return Reduced(node, loss * weight, weight);
  }
  const Tensor counts = Ne(target, node.Int("ignore_index"));
  const Tensor index = Select(counts, target, 0);
  const Tensor weight = weights ? Select(counts, Gather(weights, index), 0) : Cast(counts, x.dtype());
  const Tensor loss = Select(counts, Neg(PickedClass(node, x, index)), 0);
  return Reduced(node, loss * weight, weight);
}

Tensors NegativeLogLikelihoodLoss(const Node& node) { return {NegativeLogLikelihood(node, node[0], node[1], node[2])}; }

Tensors SoftmaxCrossEntropyLoss(const Node& node) {
  const Tensor log_probability = LogSoftmax(node[0], 1);
  return {NegativeLogLikelihood(node, log_probability, node[1], node[2]), log_probability};
}

// The operands after R and T in groups: first the parameters, then as many gradients, and so on.
class Groups {
 public:
  Groups(const Node& node, size_t count) : node_(node), size_(node.all().size() / count) {
    if (node.all().size() != 2 + size_ * count) {
      Fail(std::to_string(node.all().size()) + " operands for groups of " + std::to_string(count));
    }
  }
  size_t size() const { return size_; }
  // Operand `index` of a group.
  const Tensor& At(size_t group, size_t index) const { return node_[static_cast<int>(2 + group * size_ + index)]; }
  // The gradient of a parameter, with its L2 regularization.
  Tensor Gradient(size_t index) const { return At(1, index) + At(0, index) * node_.Float("norm_coefficient"); }

 private:
  const Node& node_;
  size_t size_;
};

// The operands of each step, one group after the other.
Tensors Joined(const std::vector<Tensors>& groups) {
  Tensors out;
  for (const Tensors& group : groups) out.insert(out.end(), group.begin(), group.end());
  return out;
}

Tensors Adagrad(const Node& node) {
  const Groups groups(node, 3);
  const Tensor &rate = node[0], &step = node[1];
  const Tensor decayed = rate / (Cast(step, rate.dtype()) * node.Float("decay_factor") + 1.0);
  std::vector<Tensors> out(2);
  for (size_t i = 0; i < groups.size(); ++i) {
    const Tensor gradient = groups.Gradient(i);
    const Tensor squares = groups.At(2, i) + gradient * gradient;
    out[0].push_back(groups.At(0, i) - gradient * decayed / (Sqrt(squares) + node.Float("epsilon")));
    out[1].push_back(squares);
  }
  return Joined(out);
}

Tensors Adam(const Node& node) {
  const Groups groups(node, 4);
  const Tensor &rate = node[0], &step = node[1];
  Builder& builder = node.builder();
  const double alpha = node.Float("alpha"), beta = node.Float("beta");
  const Tensor time = Cast(step, rate.dtype());
  const auto power = [&](double base) { return Pow(builder.Scalar(rate.dtype(), base), time); };
  const Tensor correction = Sqrt(1.0 - power(beta)) / (1.0 - power(alpha));
  const Tensor speed = rate * Select(step > 0, correction, 1.0);
  const double kept = 1 - node.Float("norm_coefficient_post");
  std::vector<Tensors> out(3);
  for (size_t i = 0; i < groups.size(); ++i) {
    const Tensor gradient = groups.Gradient(i);
    const Tensor mean = groups.At(2, i) * alpha + gradient * (1 - alpha);
    const Tensor square = groups.At(3, i) * beta + gradient * gradient * (1 - beta);
    const Tensor move = mean * speed / (Sqrt(square) + node.Float("epsilon"));
    out[0].push_back((groups.At(0, i) - move) * kept);
    out[1].push_back(mean);
    out[2].push_back(square);
  }
  return Joined(out);
}

Tensors Momentum(const Node& node) {
  const Groups groups(node, 3);
  const Tensor &rate = node[0], &step = node[1];
  const double alpha = node.Float("alpha"), beta = node.Float("beta");
  const std::string mode = node.String("mode");
  if (mode != "nesterov" && mode != "standard") Fail("unknown mode \"" + mode + "\"");
  std::vector<Tensors> out(2);
  for (size_t i = 0; i < groups.size(); ++i) {
    const Tensor gradient = groups.Gradient(i);
    const Tensor share = Select(step > 0, node.builder().Scalar(gradient.dtype(), beta), 1.0);
    const Tensor moved = groups.At(2, i) * alpha + gradient * share;
    const Tensor along = mode == "nesterov" ? gradient + moved * alpha : moved;
    out[0].push_back(groups.At(0, i) - along * rate);
    out[1].push_back(moved);
  }
  return Joined(out);
}

constexpr const char* kTraining = "ai.onnx.preview.training";

constexpr OperatorRow kTrainingRows[] = {
    {"", "NegativeLogLikelihoodLoss", 12, "input target weight?", "loss", "ignore_index:int reduction:string=mean",
     NegativeLogLikelihoodLoss},
    {"", "SoftmaxCrossEntropyLoss", 12, "scores labels weights?", "output log_prob?",
     "ignore_index:int reduction:string=mean", SoftmaxCrossEntropyLoss},
    {kTraining, "Adagrad", 1, "R T inputs*", "outputs*",
     "decay_factor:float=0.0 epsilon:float=1e-06 norm_coefficient:float=0.0", Adagrad},
    {kTraining, "Adam", 1, "R T inputs*", "outputs*",
     "alpha:float=0.9 beta:float=0.999 epsilon:float=1e-06 norm_coefficient:float=0.0 norm_coefficient_post:float=0.0",
     Adam},
    {kTraining, "Momentum", 1, "R T inputs*", "outputs*",
     "alpha:float! beta:float! mode:string! norm_coefficient:float!", Momentum},
};

}  // namespace

std::span<const OperatorRow> TrainingOperators() { return kTrainingRows; }

}  // namespace tailor::onnx
