// Normalizations.
#include <algorithm>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "bindings/onnx/convolution.h"
#include "bindings/onnx/node.h"
#include "bindings/onnx/operators.h"

namespace tailor::onnx {
namespace {

using frontend::Fail;
using frontend::ReduceOp;
using frontend::Shape;
using frontend::Tensor;
using Axes = std::vector<int64_t>;

// The axes from `first` to `end`, which it leaves out.
Axes AxesBetween(int64_t first, int64_t end) {
  Axes axes(static_cast<size_t>(std::max<int64_t>(end - first, 0)));
  std::iota(axes.begin(), axes.end(), first);
  return axes;
}

Tensor Mean(const Tensor& x, const Axes& axes) { return Reduce(ReduceOp::kMean, x, axes, true); }

Tensor Centered(const Tensor& x, const Axes& axes) { return x - Mean(x, axes); }

// The type that statistics are computed in: x's own, but at least f32.
DType WideOf(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16 ? DType::kF32 : dtype; }

Tensor Widened(const Tensor& x) { return Cast(x, WideOf(x.dtype())); }

// (x - mean) / sqrt(variance + epsilon) over axes.
Tensor Standardized(const Tensor& x, const Axes& axes, double epsilon) {
  const Tensor centered = Centered(x, axes);
  return centered * Rsqrt(Mean(centered * centered, axes) + epsilon);
}

void RequireChannels(const Tensor& x) {
  if (x.rank() < 2) Fail("the input has rank " + std::to_string(x.rank()) + ", but needs channels");
}

// The operands of BatchNormalization, all of one type.
struct Batch {
  Tensor x, scale, bias, mean, variance;
  double epsilon;
};

Batch BatchOf(const Node& node) {
  DType dtype = node[0].dtype();
  for (int i = 1; i < 5; ++i) {
    if (node[i].dtype() != dtype) dtype = DType::kF32;  // mixed types
  }
  const auto operand = [&](int i) { return Cast(node[i], dtype); };
  return {operand(0), operand(1), operand(2), operand(3), operand(4), node.Float("epsilon")};
}

// [C] for each channel of x, or [C, D...], which broadcasts already.
Tensor OverBatch(const Tensor& value, const Tensor& x) {
  return value.rank() == 1 ? PerChannel(value, std::max(x.rank(), 2)) : value;
}

Tensor Inferred(const Batch& batch) {
  const Tensor factor = batch.scale * Rsqrt(batch.variance + batch.epsilon);
  const Tensor shift = batch.bias - batch.mean * factor;
  return batch.x * OverBatch(factor, batch.x) + OverBatch(shift, batch.x);
}

// [Y, the running mean and variance, the batch's mean and variance]. Statistics are over `axes`.
Tensors Trained(const Batch& batch, double momentum, const Axes& axes) {
  const Tensor mean = Reduce(ReduceOp::kMean, batch.x, axes);
  const Tensor centered = batch.x - OverBatch(mean, batch.x);
  const Tensor variance = Reduce(ReduceOp::kMean, centered * centered, axes);
  const Tensor factor = batch.scale * Rsqrt(variance + batch.epsilon);
  const Tensor out = centered * OverBatch(factor, batch.x) + OverBatch(batch.bias, batch.x);
  const auto moved = [&](const Tensor& old, const Tensor& current) {
    return old * momentum + current * (1 - momentum);
  };
  return {out, moved(batch.mean, mean), moved(batch.variance, variance), mean, variance};
}

Tensors BatchNormalization(const Node& node) {
  const Batch batch = BatchOf(node);
  if (!node.Flag("training_mode")) return {Cast(Inferred(batch), node[0].dtype())};
  RequireChannels(batch.x);
  Axes axes = AxesBetween(1, batch.x.rank());
  axes[0] = 0;
  Tensors out = Trained(batch, node.Float("momentum"), axes);
  out.resize(3);
  out[0] = Cast(out[0], node[0].dtype());
  for (size_t i = 1; i < 3; ++i) out[i] = Cast(out[i], node[3].dtype());
  return out;
}

// Before opset 14, a node with more results than Y trains, unless `is_test`. Without `spatial`, every feature has its
// own statistics [C, D...].
Tensors LegacyBatchNormalization(const Node& node) {
  const Batch batch = BatchOf(node);
  bool trains = false;
  for (int i = 1; i < node.outputs(); ++i) trains = trains || node.WantsOutput(i);
  if (!trains || node.Int("is_test", 0) != 0) return {Inferred(batch)};
  RequireChannels(batch.x);
  Axes axes = {0};
  if (node.Int("spatial", 1) != 0) {
    axes = AxesBetween(1, batch.x.rank());
    axes[0] = 0;
  }
  return Trained(batch, node.Float("momentum"), axes);
}

Tensors InstanceNormalization(const Node& node) {
  RequireChannels(node[0]);
  const Tensor x = Widened(node[0]);
  const auto spread = [&](int i) { return PerChannel(Widened(node[i]), x.rank()); };
  const Tensor normal = Standardized(x, AxesBetween(2, x.rank()), node.Float("epsilon"));
  return {Cast(normal * spread(1) + spread(2), node[0].dtype())};
}

Tensors GroupNormalization(const Node& node) {
  const Tensor& x = node[0];
  RequireChannels(x);
  const int64_t groups = node.Int("num_groups");
  if (groups < 1) Fail("num_groups is " + std::to_string(groups));
  Shape rest = {node.dims().FloorDiv(x.dim(1), groups)};
  rest.insert(rest.end(), x.shape().begin() + 2, x.shape().end());
  const Tensor grouped = Reshape(Widened(x), {x.dim(0), groups, node.dims().Product(rest)});
  const Tensor normal = Reshape(Standardized(grouped, {2}, node.Float("epsilon")), x.shape());
  return {Cast(normal, x.dtype()) * PerChannel(node[1], x.rank()) + PerChannel(node[2], x.rank())};
}

Tensors LayerNormalization(const Node& node) {
  const Tensor x = Widened(node[0]);
  const Axes axes = AxesBetween(node.Axis(node.Int("axis"), x.rank()), x.rank());
  const Tensor mean = Mean(x, axes), centered = x - mean;
  const Tensor inverse = Rsqrt(Mean(centered * centered, axes) + node.Float("epsilon"));
  const Tensor scaled = Cast(centered * inverse, node[0].dtype()) * node[1];
  return {node[2] ? scaled + node[2] : scaled, mean, inverse};
}

Tensors RmsNormalization(const Node& node) {
  const Tensor x = Widened(node[0]);
  const Axes axes = AxesBetween(node.Axis(node.Int("axis"), x.rank()), x.rank());
  const Tensor inverse = Rsqrt(Mean(x * x, axes) + node.Float("epsilon"));
  return {Cast(x * inverse, node[1].dtype()) * node[1], inverse};
}

Tensors LpNormalization(const Node& node) {
  const int64_t power = node.Int("p"), axis = node.Axis(node.Int("axis"), node[0].rank());
  if (power != 1 && power != 2) Fail("p is " + std::to_string(power));
  const Tensor out = ThroughF32(node[0], [&](const Tensor& x) {
    const Tensor sum = Reduce(ReduceOp::kSum, power == 1 ? Abs(x) : x * x, {axis}, true);
    const Tensor norm = power == 1 ? sum : Sqrt(sum);
    return Select(Eq(norm, 0), norm * 0, x / norm);
  });
  return {out};
}

// x / (bias + alpha / size * sum of squares over `size` neighbouring channels) ^ beta.
Tensors LRN(const Node& node) {
  const Tensor& x = node[0];
  const int64_t size = node.Int("size");
  RequireChannels(x);
  if (size < 1 || size > frontend::kLargestDim) Fail("size is " + std::to_string(size));
  Shape low(x.shape().size(), 0), high = low;
  low[1] = (size - 1) / 2;
  high[1] = size - 1 - (size - 1) / 2;
  const Tensor out = ThroughF32(x, [&](const Tensor& wide) {
    const Tensor view = frontend::Window(Pad(wide * wide, 0, low, high), {1}, {size}, {}, {});
    const Tensor total = Reduce(ReduceOp::kSum, view, {x.rank()});
    const Tensor sum = total * (node.Float("alpha") / static_cast<double>(size)) + node.Float("bias");
    return wide / Pow(sum, node.Float("beta"));
  });
  return {out};
}

// The deviation, not the variance, is kept from 0.
Tensors MeanVarianceNormalization(const Node& node) {
  Axes axes;
  for (int64_t axis : node.Ints("axes")) axes.push_back(node.Axis(axis, node[0].rank()));
  if (std::set<int64_t>(axes.begin(), axes.end()).size() != axes.size()) Fail("an axis is repeated");
  const Tensor out = ThroughF32(node[0], [&](const Tensor& x) {
    const Tensor centered = Centered(x, axes);
    return centered / (Sqrt(Mean(centered * centered, axes)) + 1e-9);
  });
  return {out};
}

constexpr OperatorRow kNormalizationOperators[] = {
    {"", "BatchNormalization", 6, "X scale B mean var", "Y mean? var? saved_mean? saved_var?",
     "epsilon:float=1e-05 is_test:int=0 momentum:float=0.9 spatial:int=1", LegacyBatchNormalization},
    {"", "BatchNormalization", 7, "X scale B mean var", "Y mean? var? saved_mean? saved_var?",
     "epsilon:float=1e-05 momentum:float=0.9 spatial:int=1", LegacyBatchNormalization},
    {"", "BatchNormalization", 9, "X scale B mean var", "Y mean? var? saved_mean? saved_var?",
     "epsilon:float=1e-05 momentum:float=0.9", LegacyBatchNormalization},
    {"", "BatchNormalization", 14, "X scale B input_mean input_var", "Y running_mean? running_var?",
     "epsilon:float=1e-05 momentum:float=0.9 training_mode:int=0", BatchNormalization},
    {"", "GroupNormalization", 18, "", "", "", nullptr},  // deprecated
    {"", "GroupNormalization", 21, "X scale bias", "Y", "epsilon:float=1e-05 num_groups:int! stash_type:int=1",
     GroupNormalization},
    {"", "InstanceNormalization", 6, "input scale B", "output", "epsilon:float=1e-05", InstanceNormalization},
    {"", "LRN", 1, "X", "Y", "alpha:float=1e-04 beta:float=0.75 bias:float=1.0 size:int!", LRN},
    {"", "LayerNormalization", 1, "X Scale B?", "Y Mean? InvStdDev?",  // before 17: of onnxruntime
     "axis:int=-1 epsilon:float=1e-05 stash_type:int=1", LayerNormalization},
    {"", "LpNormalization", 1, "input", "output", "axis:int=-1 p:int=2", LpNormalization},
    {"", "MeanVarianceNormalization", 9, "X", "Y", "axes:ints=0,2,3", MeanVarianceNormalization},
    {"", "RMSNormalization", 23, "X scale", "Y", "axis:int=-1 epsilon:float=1e-05 stash_type:int=1", RmsNormalization},
    {"", "SimplifiedLayerNormalization", 1, "X scale", "Y inv_std_var?",  // of onnxruntime
     "axis:int=-1 epsilon:float=1e-05 stash_type:int=1", RmsNormalization},
};

}  // namespace

std::span<const OperatorRow> NormalizationOperators() { return kNormalizationOperators; }

}  // namespace tailor::onnx
