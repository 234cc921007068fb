#include "bindings/onnx/scores.h"

#include <iterator>
#include <limits>
#include <string>
#include <utility>

#include "bindings/frontend/error.h"

namespace tailor::onnx {
namespace {

using frontend::Array;
using frontend::Concat;
using frontend::Fail;
using frontend::ReduceOp;
using frontend::Tensor;
using frontend::Unsupported;

// Softmax over the elements that are not near 0; the others stay near 0.
Tensor SoftmaxZero(const Tensor& x) {
  const Tensor greatest = Reduce(ReduceOp::kMax, x, {-1}, true);
  const Tensor counts = Abs(x) > 1e-7;
  const Tensor power = Exp(x - greatest);
  const Tensor total = Reduce(ReduceOp::kSum, Select(counts, power, 0.0), {-1}, true);
  return Select(counts, power, x * Exp(Neg(greatest))) / total;
}

}  // namespace

ScoreTransform TransformOf(const Node& node) {
  static constexpr const char* kNames[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  const std::string name = node.String("post_transform");
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (name == kNames[i]) return static_cast<ScoreTransform>(i);
  }
  Fail("unknown post_transform \"" + name + "\"");
}

Tensor Transformed(const Tensor& scores, ScoreTransform transform) {
  switch (transform) {
    case ScoreTransform::kNone:
      return scores;
    case ScoreTransform::kSoftmax:
      return Softmax(scores, -1);
    case ScoreTransform::kLogistic:
      return Sigmoid(scores);
    case ScoreTransform::kSoftmaxZero:
      return SoftmaxZero(scores);
    case ScoreTransform::kProbit:
      break;
  }
  Unsupported("the post_transform PROBIT is not supported");
}

Tensor ScoresOfTwo(const Tensor& score, ScoreTransform transform, bool probability) {
  if (transform == ScoreTransform::kProbit) Unsupported("the post_transform PROBIT is not supported");
  if (transform == ScoreTransform::kLogistic) return Concat({Sigmoid(Neg(score)), Sigmoid(score)}, 1);
  return Concat({probability ? 1.0 - score : Neg(score), score}, 1);
}

std::vector<int64_t> IntegerLabels(const Node& node, const char* attribute) {
  const auto labels = node.Ints(attribute, {});
  if (labels.empty()) Unsupported("labels that are not integers are not supported");
  return labels;
}

Tensor BestLabel(const Node& node, const Tensor& scores, const std::vector<int64_t>& labels,
                 const std::set<int64_t>& among) {
  const auto count = static_cast<int64_t>(labels.size());
  frontend::Builder& builder = node.builder();
  Tensor open = scores;
  if (!among.empty()) {
    Array is_open = Array::New(DType::kBool, {count});
    for (int64_t i = 0; i < count; ++i) is_open.set_integer(i, among.contains(i) ? 1 : 0);
    open = Select(builder.Constant(std::move(is_open)), scores, -std::numeric_limits<double>::infinity());
  }
  const Tensor best = Eq(open, Reduce(ReduceOp::kMax, open, {1}, true));
  const Tensor index = Select(best, Iota(builder, {count}, 0, DType::kI64), count - 1);
  return Gather(builder.Constant(Array::Integers(labels)), Reduce(ReduceOp::kMin, index, {1}));
}

Tensor LabelOfTwo(const Tensor& score, double threshold, const std::vector<int64_t>& labels) {
  if (labels.size() != 2) Fail(std::to_string(labels.size()) + " labels for two classes");
  frontend::Builder& builder = score.builder();
  const Tensor index = Cast(Reshape(score > threshold, {score.dim(0)}), DType::kI64);
  return Gather(builder.Constant(Array::Integers(labels)), index);
}

}  // namespace tailor::onnx
