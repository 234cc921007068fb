// Reductions and running reductions along axes.
#include <limits>
#include <string>

#include "bindings/onnx/indexing.h"
#include "bindings/onnx/node.h"
#include "bindings/onnx/operators.h"

namespace tailor::onnx {
namespace {

using frontend::Dim;
using frontend::Dims;
using frontend::Fail;
using frontend::ReduceOp;
using frontend::Shape;
using frontend::Tensor;

using Axes = std::vector<int64_t>;

// The reduced axes; none if the operator computes on each element by itself.
Axes AxesOf(const Node& node) {
  const int rank = node[0].rank();
  Axes axes = node[1] ? node.KnownInts(node[1], "the list of axes") : node.Ints("axes", {});
  if (axes.empty() && node.Int("noop_with_empty_axes", 0) == 0) {
    for (int64_t axis = 0; axis < rank; ++axis) axes.push_back(axis);
  }
  for (int64_t& axis : axes) axis = node.Axis(axis, rank);
  return axes;
}

Tensor Reduced(ReduceOp op, const Tensor& x, const Axes& axes, bool keep) {
  return axes.empty() ? x : Reduce(op, x, axes, keep);
}

// function(x): of integers in f64, of f16 and bf16 in f32.
template <typename Function>
Tensor ThroughFloat(const Tensor& x, Function function) {
  if (IsFloat(x.dtype())) return frontend::ThroughF32(x, function);
  return Cast(function(Cast(x, DType::kF64)), x.dtype());
}

Tensor Sum(const Tensor& x, const Axes& axes, bool keep) { return Reduced(ReduceOp::kSum, x, axes, keep); }
Tensor Product(const Tensor& x, const Axes& axes, bool keep) { return Reduced(ReduceOp::kProd, x, axes, keep); }

// Also of bools: false is less than true.
Tensor Extreme(ReduceOp op, const Tensor& x, const Axes& axes, bool keep) {
  if (x.dtype() != DType::kBool) return Reduced(op, x, axes, keep);
  return Cast(Reduced(op, Cast(x, DType::kI32), axes, keep), DType::kBool);
}
Tensor Largest(const Tensor& x, const Axes& axes, bool keep) { return Extreme(ReduceOp::kMax, x, axes, keep); }
Tensor Least(const Tensor& x, const Axes& axes, bool keep) { return Extreme(ReduceOp::kMin, x, axes, keep); }

Tensor Mean(const Tensor& x, const Axes& axes, bool keep) {
  if (axes.empty() || IsFloat(x.dtype())) return Reduced(ReduceOp::kMean, x, axes, keep);
  return Cast(Reduce(ReduceOp::kMean, Cast(x, DType::kF64), axes, keep), x.dtype());
}

Tensor L1(const Tensor& x, const Axes& axes, bool keep) { return Sum(Abs(x), axes, keep); }

Tensor SumSquare(const Tensor& x, const Axes& axes, bool keep) {
  return frontend::ThroughF32(x, [&](const Tensor& wide) { return Sum(wide * wide, axes, keep); });
}

Tensor L2(const Tensor& x, const Axes& axes, bool keep) {
  if (axes.empty()) return Abs(x);
  return ThroughFloat(x, [&](const Tensor& wide) { return Sqrt(Sum(wide * wide, axes, keep)); });
}

Tensor LogSum(const Tensor& x, const Axes& axes, bool keep) {
  return ThroughFloat(x, [&](const Tensor& wide) { return Log(Sum(wide, axes, keep)); });
}

// max + log(sum(e^(x - max))), which does not overflow.
Tensor LogSumExp(const Tensor& x, const Axes& axes, bool keep) {
  if (axes.empty()) return x;
  return ThroughFloat(x, [&](const Tensor& wide) {
    const Tensor most = Reduce(ReduceOp::kMax, wide, axes, true);
    const Tensor top = Select(Abs(most) < std::numeric_limits<double>::infinity(), most, 0);
    const Tensor total = Sum(Exp(wide - top), axes, keep);
    return Log(total) + (keep ? top : Reduce(ReduceOp::kMax, top, axes));
  });
}

template <Tensor (*kReduction)(const Tensor& x, const Axes& axes, bool keep)>
Tensors Reduces(const Node& node) {
  return {kReduction(node[0], AxesOf(node), node.Flag("keepdims"))};
}

Tensors Cumulate(const Node& node, const char* combiner) {
  const std::vector<int64_t> axes = node.KnownInts(node[1], "the axis");
  if (axes.size() != 1) Fail(std::to_string(axes.size()) + " axes, needs one");
  const Tensor& x = node[0];
  return {Scan(x, node.Axis(axes[0], x.rank()), combiner, node.Flag("reverse"), node.Flag("exclusive"))};
}
Tensors CumSum(const Node& node) { return Cumulate(node, "add"); }
Tensors CumProd(const Node& node) { return Cumulate(node, "mul"); }

// Which elements along an axis are the extreme one: a NaN, if there is one.
Tensor IsExtreme(ReduceOp op, const Tensor& x, int64_t axis) {
  const Tensor hit = Eq(x, Reduce(op, x, {axis}, true));
  return IsFloat(x.dtype()) ? hit | Ne(x, x) : hit;
}

// The first index along an axis where `hit` holds.
Tensor FirstIndex(const Tensor& hit, int64_t axis, bool keep) {
  const Tensor index = Position(hit.builder(), hit.shape(), static_cast<int>(axis));
  return Reduce(ReduceOp::kMin, Select(hit, index, int64_t{1} << 31), {axis}, keep);
}

template <ReduceOp kOp>
Tensors ArgExtreme(const Node& node) {
  const Tensor& x = node[0];
  const int64_t axis = node.Axis(node.Int("axis"), x.rank());
  const bool keep = node.Flag("keepdims");
  const Tensor hit = IsExtreme(kOp, x, axis);
  if (node.Int("select_last_index", 0) == 0) return {FirstIndex(hit, axis, keep)};
  const Tensor index = Position(node.builder(), x.shape(), static_cast<int>(axis));
  return {Reduce(ReduceOp::kMax, Select(hit, index, -1), {axis}, keep)};
}

// 1 at the first of the largest elements along an axis, else 0.
Tensor Hardmax(const Tensor& x, int64_t axis) {
  const Tensor first = FirstIndex(IsExtreme(ReduceOp::kMax, x, axis), axis, true);
  return Cast(Eq(Position(x.builder(), x.shape(), static_cast<int>(axis)), first), x.dtype());
}

using Normalization = Tensor (*)(const Tensor& x, int64_t axis);

template <Normalization kNormalization>
Tensors OverAxis(const Node& node) {
  return {kNormalization(node[0], node.Axis(node.Int("axis"), node[0].rank()))};
}

// Before opset 13 all dims from `axis` on form one row.
template <Normalization kNormalization>
Tensors OverRow(const Node& node) {
  const Tensor& x = node[0];
  const int64_t axis = node.Int("axis");
  if (axis < -x.rank() || axis > x.rank()) {
    Fail("axis " + std::to_string(axis) + " is out of range for rank " + std::to_string(x.rank()));
  }
  const auto split = x.shape().begin() + (axis < 0 ? axis + x.rank() : axis);
  Dims& dims = node.dims();
  const Tensor rows = Reshape(x, {dims.Product({x.shape().begin(), split}), dims.Product({split, x.shape().end()})});
  return {Reshape(kNormalization(rows, 1), x.shape())};
}

constexpr OperatorRow kReductionRows[] = {
    {"", "ArgMax", 1, "data", "reduced", "axis:int=0 keepdims:int=1", ArgExtreme<ReduceOp::kMax>},
    {"", "ArgMax", 12, "data", "reduced", "axis:int=0 keepdims:int=1 select_last_index:int=0",
     ArgExtreme<ReduceOp::kMax>},
    {"", "ArgMin", 1, "data", "reduced", "axis:int=0 keepdims:int=1", ArgExtreme<ReduceOp::kMin>},
    {"", "ArgMin", 12, "data", "reduced", "axis:int=0 keepdims:int=1 select_last_index:int=0",
     ArgExtreme<ReduceOp::kMin>},
    {"", "CumProd", 26, "x axis", "y", "exclusive:int=0 reverse:int=0", CumProd},
    {"", "CumSum", 11, "x axis", "y", "exclusive:int=0 reverse:int=0", CumSum},
    {"", "Hardmax", 1, "input", "output", "axis:int=1", OverRow<Hardmax>},
    {"", "Hardmax", 13, "input", "output", "axis:int=-1", OverAxis<Hardmax>},
    {"", "LogSoftmax", 1, "input", "output", "axis:int=1", OverRow<frontend::LogSoftmax>},
    {"", "LogSoftmax", 13, "input", "output", "axis:int=-1", OverAxis<frontend::LogSoftmax>},
    {"", "ReduceL1", 1, "data", "reduced", "axes:ints keepdims:int=1", Reduces<L1>},
    {"", "ReduceL1", 18, "data axes?", "reduced", "keepdims:int=1 noop_with_empty_axes:int=0", Reduces<L1>},
    {"", "ReduceL2", 1, "data", "reduced", "axes:ints keepdims:int=1", Reduces<L2>},
    {"", "ReduceL2", 18, "data axes?", "reduced", "keepdims:int=1 noop_with_empty_axes:int=0", Reduces<L2>},
    {"", "ReduceLogSum", 1, "data", "reduced", "axes:ints keepdims:int=1", Reduces<LogSum>},
    {"", "ReduceLogSum", 18, "data axes?", "reduced", "keepdims:int=1 noop_with_empty_axes:int=0", Reduces<LogSum>},
    {"", "ReduceLogSumExp", 1, "data", "reduced", "axes:ints keepdims:int=1", Reduces<LogSumExp>},
    {"", "ReduceLogSumExp", 18, "data axes?", "reduced", "keepdims:int=1 noop_with_empty_axes:int=0",
     Reduces<LogSumExp>},
    {"", "ReduceMax", 1, "data", "reduced", "axes:ints keepdims:int=1", Reduces<Largest>},
    {"", "ReduceMax", 18, "data axes?", "reduced", "keepdims:int=1 noop_with_empty_axes:int=0", Reduces<Largest>},
    {"", "ReduceMean", 1, "data", "reduced", "axes:ints keepdims:int=1", Reduces<Mean>},
    {"", "ReduceMean", 18, "data axes?", "reduced", "keepdims:int=1 noop_with_empty_axes:int=0", Reduces<Mean>},
    {"", "ReduceMin", 1, "data", "reduced", "axes:ints keepdims:int=1", Reduces<Least>},
    {"", "ReduceMin", 18, "data axes?", "reduced", "keepdims:int=1 noop_with_empty_axes:int=0", Reduces<Least>},
    {"", "ReduceProd", 1, "data", "reduced", "axes:ints keepdims:int=1", Reduces<Product>},
    {"", "ReduceProd", 18, "data axes?", "reduced", "keepdims:int=1 noop_with_empty_axes:int=0", Reduces<Product>},
    {"", "ReduceSum", 1, "data", "reduced", "axes:ints keepdims:int=1", Reduces<Sum>},
    {"", "ReduceSum", 13, "data axes?", "reduced", "keepdims:int=1 noop_with_empty_axes:int=0", Reduces<Sum>},
    {"", "ReduceSumSquare", 1, "data", "reduced", "axes:ints keepdims:int=1", Reduces<SumSquare>},
    {"", "ReduceSumSquare", 18, "data axes?", "reduced", "keepdims:int=1 noop_with_empty_axes:int=0",
     Reduces<SumSquare>},
    {"", "Softmax", 1, "input", "output", "axis:int=1", OverRow<frontend::Softmax>},
    {"", "Softmax", 13, "input", "output", "axis:int=-1", OverAxis<frontend::Softmax>},
};

}  // namespace

std::span<const OperatorRow> ReductionOperators() { return kReductionRows; }

}  // namespace tailor::onnx
