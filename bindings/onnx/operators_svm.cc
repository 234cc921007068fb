// Support vector machines of the domain ai.onnx.ml.
#include <string>
#include <utility>
#include <vector>

#include "bindings/frontend/error.h"
#include "bindings/frontend/loop.h"
#include "bindings/onnx/node.h"
#include "bindings/onnx/operators.h"
#include "bindings/onnx/scores.h"

namespace tailor::onnx {
namespace {

using frontend::Array;
using frontend::Builder;
using frontend::Closure;
using frontend::Concat;
using frontend::Fail;
using frontend::Loop;
using frontend::LoopStep;
using frontend::ReduceOp;
using frontend::Region;
using frontend::Tensor;
using frontend::Unsupported;

// Coupling of pairs: iterations at most, and the error times classes that ends them.
constexpr int64_t kCouplings = 100;
constexpr double kCouplingError = 0.005;
constexpr double kLeastProbability = 1e-7;  // of a class in a pair

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

// The probability of the first class of each pair, for scores [rows, pairs].
Tensor PairProbabilities(const Node& node, const Tensor& scores) {
  const auto slopes = node.Floats("prob_a"), offsets = node.Floats("prob_b");
  const auto pairs = static_cast<size_t>(scores.dim(1).number());
  if (slopes.size() != pairs || offsets.size() != pairs) {
    Fail("prob_a or prob_b have not one entry for each pair of classes");
  }
  const auto row = [&](const std::vector<double>& values) { return Table(node.builder(), values, scores.dtype(), 1); };
  return Sigmoid(Neg(scores * row(slopes) + row(offsets)));
}

// r [rows, classes, classes]: the probability of class i where it is i or j. Transposed: of class j. 0 where i is j.
Tensor PairMatrix(const Tensor& first, int64_t classes, bool transposed) {
  const int64_t pairs = first.dim(1).number();
  const Tensor none = Broadcast(first.builder().Scalar(first.dtype(), 0), {first.dim(0), 1});
  Array column = Array::New(DType::kI64, {classes * classes});
  for (int64_t i = 0, pair = 0; i < classes; ++i) {
    column.set_integer(i * classes + i, 2 * pairs);
    for (int64_t j = i + 1; j < classes; ++j, ++pair) {
      column.set_integer(i * classes + j, transposed ? pairs + pair : pair);
      column.set_integer(j * classes + i, transposed ? pair : pairs + pair);
    }
  }
  const Tensor all = Concat({first, 1.0 - first, none}, 1);
  return Reshape(Gather(all, first.builder().Constant(std::move(column)), 1), {first.dim(0), classes, classes});
}

// One iteration of the coupling below. State: the probabilities p [rows, classes]. Rows that have converged keep
// theirs.
LoopStep Couple(Region& region, const Tensor& q, const Tensor& p) {
  const int64_t classes = p.dim(1).number();
  const Tensor index = Iota(region.builder(), {1, classes}, 1, DType::kI64);
  Tensor qp = Reduce(ReduceOp::kSum, q * Reshape(p, {p.dim(0), 1, classes}), {2});
  Tensor pqp = Reduce(ReduceOp::kSum, p * qp, {1}, true);
  const Tensor open = Reduce(ReduceOp::kMax, Abs(qp - pqp), {1}, true) >= kCouplingError / static_cast<double>(classes);
  Tensor next = p;
  for (int64_t i = 0; i < classes; ++i) {
    const Tensor row = Reshape(SliceAxis(q, 1, i, 1), {p.dim(0), classes});
    const Tensor diagonal = SliceAxis(row, 1, i, 1), own = SliceAxis(qp, 1, i, 1);
    const Tensor step = (pqp - own) / diagonal, total = step + 1.0;
    next = Select(Eq(index, i), next + step, next) / total;
    pqp = (pqp + step * (step * diagonal + own * 2.0)) / total / total;
    qp = (qp + step * row) / total;
  }
  const Tensor any = Reduce(ReduceOp::kMax, Cast(open, DType::kI32), {0, 1}) > 0;
  return {any, {Select(open, next, p)}, {}};
}

// Probabilities [rows, classes] from those of pairs [rows, pairs]: the second method of Wu, Lin and Weng, "Probability
// Estimates for Multi-class Classification by Pairwise Coupling", with the limits of libsvm and onnxruntime.
Tensor Coupled(const Tensor& pairs, int64_t classes) {
  Builder& builder = pairs.builder();
  const Tensor first = Min(Max(pairs, kLeastProbability), 1 - kLeastProbability);
  const Tensor r = PairMatrix(first, classes, false), lost = PairMatrix(first, classes, true);
  const Tensor equal = Eq(Iota(builder, {classes, 1}, 0, DType::kI64), Iota(builder, {1, classes}, 1, DType::kI64));
  const Tensor q = Select(equal, Reduce(ReduceOp::kSum, lost * lost, {2}, true), Neg(r * lost));
  const Tensor even = builder.Scalar(pairs.dtype(), 1 / static_cast<double>(classes));
  const Tensor start = Broadcast(even, {pairs.dim(0), classes});
  const Closure closure(builder, {{"q", q}}, {start});
  const auto body = [](Region& region, const Tensors& captured, const Tensor& step, const Tensors& states) {
    return Couple(region, captured[0], states[0]);
  };
  const Loop loop = {closure, {"step", "p"}, {start}, body, frontend::Element(kCouplings), {}, {}};
  return AppendLoop(loop).states[0];
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
  const Pairs pairs = PairsOf(node, x, StartsOf(sizes));
  const Tensor label = BestLabel(node, pairs.wins, labels);
  if (probable) {
    const Tensor probabilities = Coupled(PairProbabilities(node, pairs.scores), static_cast<int64_t>(sizes.size()));
    return {label, Cast(Transformed(probabilities, transform), DType::kF32)};
  }
  const bool two = sizes.size() == 2;
  const bool complement = transform != ScoreTransform::kNone;
  const Tensor scores = two ? ScoresOfTwo(pairs.scores, transform, complement) : Transformed(pairs.scores, transform);
  return {label, Cast(scores, DType::kF32)};
}

constexpr const char* kSvmDomain = "ai.onnx.ml";

constexpr OperatorRow kSvmRows[] = {
    {kSvmDomain, "SVMClassifier", 1, "X", "Y Z",
     "classlabels_ints:ints classlabels_strings:strings coefficients:floats kernel_params:floats "
     "kernel_type:string=LINEAR post_transform:string=NONE prob_a:floats prob_b:floats rho:floats "
     "support_vectors:floats vectors_per_class:ints",
     SVMClassifier},
    {kSvmDomain, "SVMRegressor", 1, "X", "Y",
     "coefficients:floats kernel_params:floats kernel_type:string=LINEAR n_supports:int=0 one_class:int=0 "
     "post_transform:string=NONE rho:floats support_vectors:floats",
     SVMRegressor},
};

}  // namespace

std::span<const OperatorRow> SupportVectorOperators() { return kSvmRows; }

}  // namespace tailor::onnx
