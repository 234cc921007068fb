// Operators that draw random numbers: docs/onnx.md, "Random operators".
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "bindings/frontend/error.h"
#include "bindings/frontend/random.h"
#include "bindings/onnx/data_types.h"
#include "bindings/onnx/graph_importer.h"
#include "bindings/onnx/node.h"
#include "bindings/onnx/operators.h"

namespace tailor::onnx {
namespace {

using frontend::Array;
using frontend::Builder;
using frontend::Dim;
using frontend::Fail;
using frontend::RandomStream;
using frontend::ReduceOp;
using frontend::Shape;
using frontend::Tensor;

// The node's numbers: those of its seed, or its own ones of the caller's seed.
RandomStream StreamOf(const Node& node) {
  if (!node.Has("seed")) return RandomStream::OfNode(node.builder(), node.importer().model().node_hash);
  if (node.type() == "Dropout") return RandomStream::OfSeed(node.builder(), static_cast<uint64_t>(node.Int("seed")));
  return RandomStream::OfSeed(node.builder(), std::bit_cast<uint32_t>(static_cast<float>(node.Float("seed"))));
}

// The type in which numbers are computed.
DType WideOf(DType dtype) { return dtype == DType::kF64 ? DType::kF64 : DType::kF32; }

void DemandFloats(const Tensor& x) {
  if (!IsFloat(x.dtype())) Fail(std::string("its input is ") + NameOf(x.dtype()) + ", which is no type of floats");
}

// The type of the output; without the attribute that of `like`.
DType FloatTypeOf(const Node& node, const Tensor& like) {
  const DType dtype = like && !node.Has("dtype") ? like.dtype() : node.TypeOf("dtype");
  if (!IsFloat(dtype)) Fail(std::string("its output would be ") + NameOf(dtype) + ", which is no type of floats");
  return dtype;
}

Shape ShapeOf(const Node& node) {
  Shape shape;
  for (int64_t dim : node.Ints("shape")) {
    if (dim < 0) Fail("its attribute \"shape\" has the negative dim size " + std::to_string(dim));
    shape.push_back(dim);
  }
  return shape;
}

// The largest number of the type below `bound`.
double Below(DType dtype, double bound) {
  Array array = Array::Scalar(dtype, bound);
  const double rounded = array.number(0);
  if (rounded < bound) return rounded;
  static constexpr DType kBits[] = {DType::kI16, DType::kI32, DType::kI64};
  Array bits(kBits[std::countr_zero(static_cast<unsigned>(SizeOf(dtype))) - 1], {}, array.owner(), array.data());
  const int64_t step = rounded > 0 ? -1 : 1;  // floats of one sign are ordered as their bits are
  if (rounded == 0) array.set(0, -0.0);
  bits.set_integer(0, bits.integer(0) + step);
  return array.number(0);
}

Tensor UniformOf(const Node& node, const Shape& shape, DType dtype) {
  const double low = node.Float("low"), high = node.Float("high");
  if (!std::isfinite(high - low)) Fail("its range is " + std::to_string(low) + " to " + std::to_string(high));
  const bool too_far = std::fabs(high - low) > std::numeric_limits<float>::max();
  const Tensor x = StreamOf(node).Uniform(shape, too_far ? DType::kF64 : WideOf(dtype)) * (high - low) + low;
  // Where it was rounded up to `high`, it is the number before.
  return low < high ? Min(Cast(x, dtype), Below(dtype, high)) : Cast(x, dtype);
}

Tensor NormalOf(const Node& node, const Shape& shape, DType dtype) {
  const Tensor x = StreamOf(node).Normal(shape, WideOf(dtype));
  return Cast(x * node.Float("scale") + node.Float("mean"), dtype);
}

template <Tensor (*kNumbers)(const Node&, const Shape&, DType)>
Tensors OfShape(const Node& node) {
  return {kNumbers(node, ShapeOf(node), FloatTypeOf(node, {}))};
}

template <Tensor (*kNumbers)(const Node&, const Shape&, DType)>
Tensors Like(const Node& node) {
  return {kNumbers(node, node[0].shape(), FloatTypeOf(node, node[0]))};
}

Tensors Bernoulli(const Node& node) {
  const Tensor& x = node[0];
  DemandFloats(x);
  const DType dtype = node.Has("dtype") ? node.TypeOf("dtype") : x.dtype();
  return {Cast(StreamOf(node).Happens(Cast(x, WideOf(x.dtype())), x.shape()), dtype)};
}

// From log probabilities [batch, classes] that need not sum to 1. A class is the number of cumulated probabilities,
// beginning with its own, that a uniform number reaches: none of probability 0 is drawn.
Tensors Multinomial(const Node& node) {
  const Tensor& x = node[0];
  DemandRank(x, 2, "its input");
  DemandFloats(x);
  const int64_t samples = node.Int("sample_size");
  if (samples < 0) Fail("its attribute \"sample_size\" is " + std::to_string(samples));
  const DType dtype = node.TypeOf("dtype");
  if (dtype != DType::kI32 && dtype != DType::kI64) {
    Fail(std::string("its output would be ") + NameOf(dtype) + ", not i32 or i64");
  }
  const Dim batch = x.dim(0), classes = x.dim(1);
  node.dims().AssumeAtLeast(classes, 1, "Multinomial needs a class");
  const Tensor logits = Cast(x, DType::kF64);  // sums of many classes stay exact
  const Tensor weights = Exp(logits - Reduce(ReduceOp::kMax, logits, {1}, /*keep_dims=*/true));
  const Tensor cumulated = Scan(weights, 1, "add", /*reverse=*/false, /*exclusive=*/false);
  const Tensor total = SliceAxis(cumulated, 1, node.dims().Sub(classes, 1), 1);
  const Tensor drawn = StreamOf(node).Uniform({batch, samples}, DType::kF64) * total;
  const Tensor reached = Reshape(cumulated, {batch, 1, classes}) <= Reshape(drawn, {batch, samples, 1});
  return {Reduce(ReduceOp::kSum, Cast(reached, dtype), {2})};
}

// ---- Dropout

// x, and the mask that keeps all of it.
Tensors Kept(const Node& node, DType mask) {
  const Tensor& x = node[0];
  Tensors out = {x};
  if (node.WantsOutput(1)) out.push_back(Broadcast(node.builder().Scalar(mask, 1), x.shape()));
  return out;
}

// x without the share `ratio` of its elements, which are 0, and the others scaled up; where `training` is given and
// false, x as it is. `ratio` and `training` are of rank 0.
Tensors Dropped(const Node& node, const Tensor& ratio, const Tensor& training, DType mask_type) {
  const Tensor& x = node[0];
  DemandFloats(x);
  const DType wide = WideOf(x.dtype());
  Tensor kept = Not(StreamOf(node).Happens(Cast(ratio, WideOf(ratio.dtype())), x.shape()));
  Tensor scale = 1.0 / (1.0 - Cast(ratio, wide));
  if (training) {
    kept = kept | Not(training);
    scale = Select(training, scale, 1.0);
  }
  return {Cast(Select(kept, Cast(x, wide) * scale, 0.0), x.dtype()), Cast(kept, mask_type)};
}

// The value of a constant of one element.
std::optional<double> Constant(const Node& node, const Tensor& x) {
  const Tensor scalar = node.ScalarOf(x);
  return scalar.array() == nullptr ? std::nullopt : std::optional(scalar.array()->number(0));
}

Tensors Dropout(const Node& node) {
  const Tensor training = node[2] ? node.ScalarOf(node[2]) : node.builder().Scalar(DType::kBool, 0);
  const Tensor ratio = node[1] ? node.ScalarOf(node[1]) : node.builder().Scalar(DType::kF32, 0.5);
  const auto trains = Constant(node, training), share = Constant(node, ratio);
  if (share && !(*share >= 0 && *share <= 1)) Fail("its ratio " + std::to_string(*share) + " is not in [0, 1]");
  if (trains == 0 || share == 0) return Kept(node, DType::kBool);
  return Dropped(node, ratio, trains ? Tensor() : training, DType::kBool);
}

// From opset 7 to 11. The mask has the type of x before opset 10.
Tensors DropoutInference(const Node& node) { return Kept(node, node.opset() < 10 ? node[0].dtype() : DType::kBool); }

// Before opset 7.
Tensors DropoutByAttributes(const Node& node) {
  const DType dtype = node[0].dtype();
  const double ratio = node.Float("ratio");
  if (node.Flag("is_test") || ratio == 0) return Kept(node, dtype);
  return Dropped(node, node.builder().Scalar(DType::kF32, ratio), {}, dtype);
}

constexpr OperatorRow kRandomRows[] = {
    {"", "Bernoulli", 15, "input", "output", "dtype:int seed:float", Bernoulli},
    {"", "Dropout", 6, "data", "output mask?", "is_test:int=0 ratio:float=0.5", DropoutByAttributes},
    {"", "Dropout", 7, "data", "output mask?", "ratio:float=0.5", DropoutInference},
    {"", "Dropout", 12, "data ratio? training_mode?", "output mask?", "seed:int", Dropout},
    {"", "Multinomial", 7, "input", "output", "dtype:int=6 sample_size:int=1 seed:float", Multinomial},
    {"", "RandomNormal", 1, "", "output", "dtype:int=1 mean:float=0.0 scale:float=1.0 seed:float shape:ints!",
     OfShape<NormalOf>},
    {"", "RandomNormalLike", 1, "input", "output", "dtype:int mean:float=0.0 scale:float=1.0 seed:float",
     Like<NormalOf>},
    {"", "RandomUniform", 1, "", "output", "dtype:int=1 high:float=1.0 low:float=0.0 seed:float shape:ints!",
     OfShape<UniformOf>},
    {"", "RandomUniformLike", 1, "input", "output", "dtype:int high:float=1.0 low:float=0.0 seed:float",
     Like<UniformOf>},
};

}  // namespace

std::span<const OperatorRow> RandomOperators() { return kRandomRows; }

}  // namespace tailor::onnx
