// Support vector machines of the domain ai.onnx.ml.
#include <string>
#include <utility>
#include <vector>

#include "bindings/frontend/error.h"
#include "bindings/onnx/node.h"
#include "bindings/onnx/operators.h"
#include "bindings/onnx/scores.h"

namespace tailor::onnx {
namespace {

using frontend::Array;
using frontend::Builder;
using frontend::Concat;
using frontend::Fail;
using frontend::ReduceOp;
using frontend::Tensor;
using frontend::Unsupported;

Tensor RowsOf(const Tensor& x) {
  if (x.rank() != 2) Fail("an operand has rank " + std::to_string(x.rank()) + ", not 2");
  return Cast(x, x.dtype() == DType::kF64 ? DType::kF64 : DType::kF32);
}

// A list of numbers as [rows, columns] of a dtype.
Tensor Table(Builder& builder, const std::vector<double>& values, DType dtype, int64_t rows) {
  const auto size = static_cast<int64_t>(values.size());
  if (rows < 1 || size == 0 || size % rows != 0) {
    Fail(std::to_string(size) + " numbers for " + std::to_string(rows) + " rows");
  }
  Array array = Array::New(dtype, {rows, size / rows});
  for (int64_t i = 0; i < size; ++i) array.set(i, values[static_cast<size_t>(i)]);
  return builder.Constant(std::move(array));
}

// The kernel of x [rows, features] with each of `vectors` [vectors, features]: [rows, vectors].
Tensor Kernel(const Node& node, const Tensor& x, const Tensor& vectors) {
  const std::string type = node.String("kernel_type");
  std::vector<double> parameters = node.Floats("kernel_params");
  if (!parameters.empty() && parameters.size() != 3) Fail(std::to_string(parameters.size()) + " kernel_params");
  parameters.resize(3, 0);
  const double gamma = parameters[0], offset = parameters[1], degree = parameters[2];
  const Tensor product = Dot(x, vectors, false, true);
  if (type == "LINEAR") return product;
  if (type == "POLY") return Pow(product * gamma + offset, degree);
  if (type == "SIGMOID") return Tanh(product * gamma + offset);
  if (type != "RBF") Fail("unknown kernel_type \"" + type + "\"");
  const Tensor apart = Reshape(x, {x.dim(0), 1, x.dim(1)}) - vectors;
  return Exp(Reduce(ReduceOp::kSum, apart * apart, {2}) * -gamma);
}

double OffsetAt(const std::vector<double>& offsets, size_t index) {
  if (index >= offsets.size()) Fail("its attribute \"rho\" has only " + std::to_string(offsets.size()) + " entries");
  return offsets[index];
}

Tensors SVMRegressor(const Node& node) {
  const Tensor x = RowsOf(node[0]);
  Builder& builder = node.builder();
  const int64_t supports = node.Int("n_supports");
  Tensor features = x;
  if (supports > 0) features = Kernel(node, x, Table(builder, node.Floats("support_vectors"), x.dtype(), supports));
  const Tensor weights = Table(builder, node.Floats("coefficients"), x.dtype(), 1);
  const Tensor score = Dot(features, weights, false, true) + OffsetAt(node.Floats("rho"), 0);
  if (!node.Flag("one_class")) return {Cast(score, DType::kF32)};
  return {Select(score > 0.0, builder.Scalar(DType::kF32, 1), -1.0)};
}

// The first vector of each class, and their number.
std::vector<int64_t> StartsOf(const std::vector<int64_t>& sizes) {
  std::vector<int64_t> starts = {0};
  for (int64_t size : sizes) {
    if (size < 0 || size > frontend::kLargestDim) Fail("a class has " + std::to_string(size) + " vectors");
    starts.push_back(starts.back() + size);
  }
  return starts;
}

struct Pairs {
  Tensor scores;  // [rows, pairs]: above 0 if the first class of the pair wins
  Tensor wins;    // i64 [rows, classes]
};

// All pairs of classes, in the order 0 1, 0 2, ..., 1 2, ...
Pairs PairsOf(const Node& node, const Tensor& x, const std::vector<int64_t>& starts) {
  Builder& builder = node.builder();
  const auto classes = static_cast<int64_t>(starts.size()) - 1;
  const Tensor kernel = Kernel(node, x, Table(builder, node.Floats("support_vectors"), x.dtype(), starts.back()));
  const Tensor weights = Table(builder, node.Floats("coefficients"), x.dtype(), classes - 1);
  if (!weights.dim(1).is(starts.back())) Fail("there are not as many coefficients as vectors");
  const std::vector<double> offsets = node.Floats("rho");
  // The vectors of class `of` against class `other`.
  const auto part = [&](int64_t of, int64_t other) {
    const int64_t start = starts[static_cast<size_t>(of)], size = starts[static_cast<size_t>(of) + 1] - start;
    const Tensor row = SliceAxis(weights, 0, other < of ? other : other - 1, 1);
    return Dot(SliceAxis(kernel, 1, start, size), SliceAxis(row, 1, start, size), false, true);
  };
  std::vector<Tensor> scores;
  std::vector<Tensor> wins(static_cast<size_t>(classes));
  for (int64_t i = 0; i < classes; ++i) {
    for (int64_t j = i + 1; j < classes; ++j) {
      scores.push_back(part(i, j) + part(j, i) + OffsetAt(offsets, scores.size()));
      const Tensor won = Cast(scores.back() > 0.0, DType::kI64);
      Tensor &first = wins[static_cast<size_t>(i)], &second = wins[static_cast<size_t>(j)];
      first = first ? first + won : won;
      second = second ? second - won + 1 : Neg(won) + 1;
    }
  }
  return {Concat(scores, 1), Concat(wins, 1)};
}

// The probabilities of two classes for the score [rows, 1] of the first.
Tensor Probabilities(const Node& node, const Tensor& score) {
  const auto slopes = node.Floats("prob_a"), offsets = node.Floats("prob_b");
  if (slopes.size() != 1 || offsets.size() != 1) Fail("prob_a or prob_b have not one entry for each pair of classes");
  const Tensor first = Sigmoid(Neg(score * slopes[0] + offsets[0]));
  return Concat({first, 1.0 - first}, 1);
}

// More classes make each operator of this row quadratic in their number.
constexpr size_t kMaxClasses = 64;

Tensors SVMClassifier(const Node& node) {
  const Tensor x = RowsOf(node[0]);
  const std::vector<int64_t> labels = IntegerLabels(node, "classlabels_ints");
  const ScoreTransform transform = TransformOf(node);
  const std::vector<int64_t> sizes = node.Ints("vectors_per_class", {});
  if (sizes.empty()) {
    const auto count = static_cast<int64_t>(labels.size());
    const Tensor weights = Table(node.builder(), node.Floats("coefficients"), x.dtype(), count);
    const Tensor scores = Dot(x, weights, false, true) + OffsetAt(node.Floats("rho"), 0);
    return {BestLabel(node, scores, labels), Cast(Transformed(scores, transform), DType::kF32)};
  }
  if (sizes.size() != labels.size() || sizes.size() < 2) {
    Fail(std::to_string(sizes.size()) + " vectors_per_class for " + std::to_string(labels.size()) + " labels");
  }
  if (sizes.size() > kMaxClasses) Unsupported(std::to_string(sizes.size()) + " classes are not supported");
  const bool probable = !node.Floats("prob_a").empty();
  if (probable && sizes.size() > 2) Unsupported("probabilities of more than two classes are not supported");
  const Pairs pairs = PairsOf(node, x, StartsOf(sizes));
  const Tensor label = BestLabel(node, pairs.wins, labels);
  if (probable) return {label, Cast(Transformed(Probabilities(node, pairs.scores), transform), DType::kF32)};
  const bool two = sizes.size() == 2;
  const bool complement = transform != ScoreTransform::kNone;
  const Tensor scores = two ? ScoresOfTwo(pairs.scores, transform, complement) : Transformed(pairs.scores, transform);
  return {label, Cast(scores, DType::kF32)};
}

constexpr const char* kDomain = "ai.onnx.ml";

constexpr OperatorRow kRows[] = {
    {kDomain, "SVMClassifier", 1, "X", "Y Z",
     "classlabels_ints:ints classlabels_strings:strings coefficients:floats kernel_params:floats "
     "kernel_type:string=LINEAR post_transform:string=NONE prob_a:floats prob_b:floats rho:floats "
     "support_vectors:floats vectors_per_class:ints",
     SVMClassifier},
    {kDomain, "SVMRegressor", 1, "X", "Y",
     "coefficients:floats kernel_params:floats kernel_type:string=LINEAR n_supports:int=0 one_class:int=0 "
     "post_transform:string=NONE rho:floats support_vectors:floats",
     SVMRegressor},
};

}  // namespace

std::span<const OperatorRow> SupportVectorOperators() { return kRows; }

}  // namespace tailor::onnx
