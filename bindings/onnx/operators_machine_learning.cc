// Operators of the domain ai.onnx.ml on features: numbers in the columns of x [rows, features].
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "bindings/frontend/error.h"
#include "bindings/onnx/indexing.h"
#include "bindings/onnx/node.h"
#include "bindings/onnx/operators.h"
#include "bindings/onnx/scores.h"

namespace tailor::onnx {
namespace {

using frontend::Array;
using frontend::Builder;
using frontend::Concat;
using frontend::Dim;
using frontend::Fail;
using frontend::ReduceOp;
using frontend::Shape;
using frontend::Tensor;
using frontend::Unsupported;

// The elements at the indices along the last dim. Of a vector they are a row.
Tensors ArrayFeatureExtractor(const Node& node) {
  const Tensor& x = node[0];
  if (x.rank() == 0) Fail("an operand has rank 0, not at least 1");
  const Dim count = node.dims().Product(node[1].shape());
  const Tensor out = Gather(x, AsIndex(Reshape(node[1], {count})), -1);
  return {x.rank() > 1 ? out : Reshape(out, {1, count})};
}

Tensors Binarizer(const Node& node) {
  const Tensor& x = node[0];
  const double threshold = node.Float("threshold");
  return {Cast(x > (IsFloat(x.dtype()) ? threshold : std::floor(threshold)), x.dtype())};
}

// An operand as numbers that are computed with.
Tensor AsFloat(const Tensor& x) { return Cast(x, x.dtype() == DType::kF64 ? DType::kF64 : DType::kF32); }

// Those in rows: a vector is one.
Tensor RowsOf(const Tensor& x) {
  if (x.rank() == 1) return AsFloat(Reshape(x, {1, x.dim(0)}));
  if (x.rank() != 2) Fail("an operand has rank " + std::to_string(x.rank()) + ", not 2");
  return AsFloat(x);
}

Tensor Constant(Builder& builder, const std::vector<double>& values, DType dtype, std::vector<int64_t> shape) {
  const auto size = static_cast<int64_t>(values.size());
  if (frontend::CountOf(shape) != size) Fail("a list of " + std::to_string(size) + " numbers has another length");
  Array array = Array::New(dtype, std::move(shape));
  for (int64_t i = 0; i < array.size(); ++i) array.set(i, values[static_cast<size_t>(i)]);
  return builder.Constant(std::move(array));
}

// One number, or one for each feature.
Tensor PerFeature(const Tensor& x, const std::vector<double>& values, const char* attribute) {
  const auto count = static_cast<int64_t>(values.size());
  if (count != 1 && (count == 0 || x.rank() == 0 || x.builder().dims().IsEqual(x.dim(-1), count) == false)) {
    Fail(std::to_string(count) + " entries of " + attribute);
  }
  return Constant(x.builder(), values, x.dtype(), count == 1 ? std::vector<int64_t>{} : std::vector<int64_t>{count});
}

Tensors Scaler(const Node& node) {
  Tensor x = AsFloat(node[0]);
  if (node.Has("offset")) x = x - PerFeature(x, node.Floats("offset"), "offset");
  if (node.Has("scale")) x = x * PerFeature(x, node.Floats("scale"), "scale");
  return {Cast(x, DType::kF32)};
}

// Each row divided by its norm, unless that is 0.
Tensors Normalizer(const Node& node) {
  const Tensor x = AsFloat(node[0]);
  if (x.rank() != 1 && x.rank() != 2) Fail("an operand has rank " + std::to_string(x.rank()) + ", not 1 or 2");
  const std::string norm = node.String("norm");
  Tensor length;
  if (norm == "MAX") {
    length = Reduce(ReduceOp::kMax, x, {-1}, true);
  } else if (norm == "L1") {
    length = Reduce(ReduceOp::kSum, Abs(x), {-1}, true);
  } else if (norm == "L2") {
    length = Sqrt(Reduce(ReduceOp::kSum, x * x, {-1}, true));
  } else {
    Fail("unknown norm \"" + norm + "\"");
  }
  return {Cast(x / Select(Eq(length, 0), 1, length), DType::kF32)};
}

Tensors Imputer(const Node& node) {
  const Tensor& x = node[0];
  if (IsFloat(x.dtype())) {
    const double replaced = node.Float("replaced_value_float");
    const Tensor missing = std::isnan(replaced) ? Ne(x, x) : Eq(x, replaced);
    return {Select(missing, PerFeature(x, node.Floats("imputed_value_floats"), "imputed_value_floats"), x)};
  }
  const auto values = node.Ints("imputed_value_int64s", {});
  if (values.size() != 1 && (x.rank() == 0 || values.empty())) {
    Fail(std::to_string(values.size()) + " entries of imputed_value_int64s");
  }
  Tensor imputed = node.builder().Constant(Array::Integers(values, x.dtype()));
  if (values.size() == 1) imputed = Reshape(imputed, {});
  return {Select(Eq(x, node.Int("replaced_value_int64")), imputed, x)};
}

// Features of all operands side by side.
Tensors FeatureVectorizer(const Node& node) {
  if (node.inputs() == 0) Fail("it has no operands");
  std::vector<Tensor> columns;
  for (const Tensor& x : node.all()) columns.push_back(Cast(RowsOf(x), DType::kF32));
  return {Concat(columns, 1)};
}

// x [...] as [..., categories].
Tensors OneHotEncoder(const Node& node) {
  const auto categories = node.Ints("cats_int64s", {});
  if (categories.empty()) Unsupported("categories that are not integers are not supported");
  const Tensor& x = node[0];
  Shape shape = x.shape();
  shape.push_back(1);
  const Tensor index = Reshape(Cast(x, DType::kI64), shape);
  const Tensor hit = Eq(index, node.builder().Constant(Array::Integers(categories)));
  const Tensor out = Cast(hit, DType::kF32);
  if (node.Flag("zeros")) return {out};
  // A category that is not in the list reads beyond the end of this vector, which fails the run.
  const Tensor present = node.builder().Constant(Array::Floats({0, 1}, {2}));
  const Tensor found = Reduce(ReduceOp::kMax, Cast(hit, DType::kI64), {-1}, true);
  return {out * Gather(present, Neg(found) + 2)};
}

// The list <prefix>_int64s, _floats or _tensor; absent if the node has none of them.
Tensor ListOf(const Node& node, const std::string& prefix) {
  const std::string ints = prefix + "_int64s", floats = prefix + "_floats";
  Builder& builder = node.builder();
  if (node.Has(ints)) return builder.Constant(Array::Integers(node.Ints(ints)));
  if (node.Has(floats)) {
    const auto values = node.Floats(floats);
    return Constant(builder, values, DType::kF32, {static_cast<int64_t>(values.size())});
  }
  const Tensor list = node.TensorOf(prefix + "_tensor");
  if (!list) return list;
  return Reshape(list, {node.dims().Product(list.shape())});
}

Tensor DefaultLabel(const Node& node, DType dtype) {
  if (const Tensor given = node.TensorOf("default_tensor")) return node.ScalarOf(given);
  const bool is_float = IsFloat(dtype);
  return is_float ? node.builder().Scalar(dtype, node.Float("default_float"))
                  : node.builder().Constant(Array::Integer(dtype, node.Int("default_int64")));
}

// The value of the last key that each element equals. NaN equals NaN.
Tensors LabelEncoder(const Node& node) {
  const Tensor& x = node[0];
  const Tensor keys = ListOf(node, "keys"), values = ListOf(node, "values");
  if (!keys || !values) Unsupported("labels that are strings are not supported");
  if (keys.dim(0) != values.dim(0)) Fail("there are not as many keys as values");
  const Tensor other = DefaultLabel(node, values.dtype());
  Shape shape = x.shape();
  shape.push_back(1);
  const Tensor each = Reshape(x, shape);
  Tensor equal = Eq(each, keys);
  if (IsFloat(x.dtype())) equal = equal | (Ne(each, each) & Ne(keys, keys));
  const Tensor number = Iota(node.builder(), {keys.dim(0)}, 0, DType::kI64) + 1;
  const Tensor index = Reduce(ReduceOp::kMax, Select(equal, number, 0), {-1});
  return {Gather(Concat({Reshape(other, {1}), values}, 0), index)};
}

// x [rows, features] times coefficients, plus intercepts: [rows, count].
Tensor Linear(const Node& node, const Tensor& x, int64_t count) {
  const auto coefficients = node.Floats("coefficients"), intercepts = node.Floats("intercepts");
  const auto size = static_cast<int64_t>(coefficients.size());
  if (count < 1 || size % count != 0) Fail(std::to_string(size) + " coefficients for " + std::to_string(count));
  Builder& builder = node.builder();
  const Tensor weights = Constant(builder, coefficients, x.dtype(), {count, size / count});
  const Tensor out = Dot(x, weights, false, true);
  return intercepts.empty() ? out : out + Constant(builder, intercepts, x.dtype(), {count});
}

// Of a single score there is no distribution.
Tensor TransformedScores(const Tensor& scores, ScoreTransform transform) {
  const bool single = scores.dim(1).is(1) && transform != ScoreTransform::kProbit;
  return single ? scores : Transformed(scores, transform);
}

Tensors LinearRegressor(const Node& node) {
  const Tensor scores = Linear(node, RowsOf(node[0]), node.Int("targets"));
  return {Cast(TransformedScores(scores, TransformOf(node)), DType::kF32)};
}

Tensors LinearClassifier(const Node& node) {
  const std::vector<int64_t> labels = IntegerLabels(node, "classlabels_ints");
  const size_t intercepts = node.Floats("intercepts").size();
  const auto count = static_cast<int64_t>(intercepts > 0 ? intercepts : labels.size());
  const Tensor scores = Linear(node, RowsOf(node[0]), count);
  const ScoreTransform transform = TransformOf(node);
  if (count == 1 && labels.size() == 2) {
    return {LabelOfTwo(scores, 0, labels), Cast(ScoresOfTwo(scores, transform, true), DType::kF32)};
  }
  if (count != static_cast<int64_t>(labels.size())) {
    Fail(std::to_string(labels.size()) + " labels for " + std::to_string(count) + " scores");
  }
  return {BestLabel(node, scores, labels), Cast(TransformedScores(scores, transform), DType::kF32)};
}

// Of each row a map from labels to scores. The scores [rows, labels] stand for the maps: column i is that of label i.
Tensors ZipMap(const Node& node) {
  const bool integers = node.Has("classlabels_int64s");
  if (integers == node.Has("classlabels_strings")) Fail("needs one of classlabels_int64s and classlabels_strings");
  const size_t labels = integers ? node.Ints("classlabels_int64s").size() : node.Strings("classlabels_strings").size();
  const auto count = static_cast<int64_t>(labels);
  const Tensor scores = RowsOf(node[0]);
  if (node.dims().IsEqual(scores.dim(1), count) == false) {
    Fail(std::to_string(count) + " labels for " + node.dims().Text(scores.dim(1)) + " scores");
  }
  node.dims().AssumeEqual(scores.dim(1), count);
  return {scores};
}

constexpr const char* kMachineLearningDomain = "ai.onnx.ml";

constexpr OperatorRow kMachineLearningRows[] = {
    {kMachineLearningDomain, "ArrayFeatureExtractor", 1, "X Y", "Z", "", ArrayFeatureExtractor},
    {kMachineLearningDomain, "Binarizer", 1, "X", "Y", "threshold:float=0.0", Binarizer},
    {kMachineLearningDomain, "FeatureVectorizer", 1, "X*", "Y", "inputdimensions:ints", FeatureVectorizer},
    {kMachineLearningDomain, "Imputer", 1, "X", "Y",
     "imputed_value_floats:floats imputed_value_int64s:ints replaced_value_float:float=0.0 replaced_value_int64:int=0",
     Imputer},
    {kMachineLearningDomain, "LabelEncoder", 2, "X", "Y",
     "default_float:float=-0.0 default_int64:int=-1 default_string:string=_Unused keys_floats:floats keys_int64s:ints "
     "keys_strings:strings values_floats:floats values_int64s:ints values_strings:strings",
     LabelEncoder},
    {kMachineLearningDomain, "LabelEncoder", 4, "X", "Y",
     "default_float:float=-0.0 default_int64:int=-1 default_string:string=_Unused default_tensor:tensor "
     "keys_floats:floats keys_int64s:ints keys_strings:strings keys_tensor:tensor values_floats:floats "
     "values_int64s:ints values_strings:strings values_tensor:tensor",
     LabelEncoder},
    {kMachineLearningDomain, "LinearClassifier", 1, "X", "Y Z",
     "classlabels_ints:ints classlabels_strings:strings coefficients:floats! intercepts:floats multi_class:int=0 "
     "post_transform:string=NONE",
     LinearClassifier},
    {kMachineLearningDomain, "LinearRegressor", 1, "X", "Y",
     "coefficients:floats intercepts:floats post_transform:string=NONE targets:int=1", LinearRegressor},
    {kMachineLearningDomain, "Normalizer", 1, "X", "Y", "norm:string=MAX", Normalizer},
    {kMachineLearningDomain, "OneHotEncoder", 1, "X", "Y", "cats_int64s:ints cats_strings:strings zeros:int=1",
     OneHotEncoder},
    {kMachineLearningDomain, "Scaler", 1, "X", "Y", "offset:floats scale:floats", Scaler},
    {kMachineLearningDomain, "ZipMap", 1, "X", "scores", "classlabels_int64s:ints classlabels_strings:strings", ZipMap},
};

}  // namespace

std::span<const OperatorRow> MachineLearningOperators() { return kMachineLearningRows; }

}  // namespace tailor::onnx
