// NonMaxSuppression: a loop that takes the best remaining box of every batch and class, and drops what overlaps it.
#include <limits>
#include <string>
#include <vector>

#include "bindings/frontend/error.h"
#include "bindings/frontend/loop.h"
#include "bindings/onnx/indexing.h"
#include "bindings/onnx/node.h"
#include "bindings/onnx/operators.h"

namespace tailor::onnx {
namespace {

using frontend::Builder;
using frontend::Closure;
using frontend::Concat;
using frontend::Dim;
using frontend::Dims;
using frontend::Element;
using frontend::Fail;
using frontend::Loop;
using frontend::LoopStep;
using frontend::ReduceOp;
using frontend::Region;
using frontend::Shape;
using frontend::Tensor;

// Boxes [B, N, 4] as rows of least y, least x, greatest y, greatest x: [B, 4, N].
Tensor EdgesOf(const Node& node, const Tensor& boxes) {
  const Tensor rows = Transpose(boxes, {0, 2, 1});
  const Tensor first = SliceAxis(rows, 1, 0, 2), second = SliceAxis(rows, 1, 2, 2);
  if (!node.Flag("center_point_box")) return Concat({Min(first, second), Max(first, second)}, 1);
  const Tensor half = second * 0.5;  // x and y of the center: areas are the same with the axes swapped
  return Concat({first - half, first + half}, 1);
}

// The most boxes of a class.
Dim MostOf(const Node& node, const Tensor& most, const Dim& boxes) {
  if (!most) return 0;
  const auto parts = node.Parts(most, "the number of boxes");
  if (parts.size() != 1) Fail("the number of boxes has " + std::to_string(parts.size()) + " elements, not 1");
  Builder& builder = node.builder();
  if (parts[0].is_dim()) return node.dims().Min(node.dims().Max(parts[0].dim, 0), boxes);
  return builder.DimOf(Element(Min(Max(builder.NumberOf(parts[0]), 0), builder.Number(boxes))));
}

// Whether a chosen box and another share more than `limit` of their union. By edge: `one` [B, C, 1], `every`
// [B, 1, N].
Tensor Overlaps(const Tensors& one, const Tensors& every, const Tensor& limit) {
  const auto side = [&](size_t i) { return Max(Min(one[i + 2], every[i + 2]) - Max(one[i], every[i]), 0.0); };
  const auto area = [](const Tensors& box) { return (box[2] - box[0]) * (box[3] - box[1]); };
  const Tensor shared = side(0) * side(1), together = area(one) + area(every) - shared;
  return (shared > 0.0) & (shared / together > limit);
}

// State: whether each box is left, bool [B, C, N]. Row: the boxes that were found, i64 [B, C], -1 for none.
LoopStep TakeBest(Region& region, const Tensor& edges, const Tensor& scores, const Tensor& limit, const Tensor& left) {
  Builder& builder = region.builder();
  const Dim batches = left.dim(0), classes = left.dim(1), count = left.dim(2);
  const Tensor total = builder.Number(count);
  const Tensor rest = Select(left, scores, -std::numeric_limits<double>::infinity());
  const Tensor best = left & Eq(rest, Reduce(ReduceOp::kMax, rest, {2}, true));
  const Tensor index = Position(builder, left.shape(), 2);
  const Tensor first = Reduce(ReduceOp::kMin, Select(best, index, total), {2});  // of equal scores
  const Tensor found = first < total, held = Min(first, total - 1);
  const Shape out = {batches, classes};
  Tensors chosen, every;
  for (int64_t i = 0; i < 4; ++i) {
    every.push_back(SliceAxis(edges, 1, i, 1));
    const Tensor line = Reshape(every.back(), {batches, count});
    const Tensor one = FlatGather(line, line.shape(), {Position(builder, out, 0), held}, out);
    chosen.push_back(Reshape(one, {batches, classes, 1}));
  }
  const Tensor dropped = Overlaps(chosen, every, limit) | Eq(index, Reshape(held, {batches, classes, 1}));
  const Tensor any = Reduce(ReduceOp::kMax, Cast(found, DType::kI32), {0, 1}) > 0;
  return {any, {left & Not(dropped)}, {Select(found, first, -1)}};
}

// Boxes that were found [K, B, C] as rows (batch, class, box), by batch, class and score.
Tensor Listed(const Node& node, const Tensor& found) {
  Builder& builder = node.builder();
  const Shape shape = {found.dim(1), found.dim(2), found.dim(0)};
  const Tensor boxes = Transpose(found, {1, 2, 0});
  Shape column = shape;
  column.push_back(1);
  std::vector<Tensor> columns;
  for (const Tensor& x : {Position(builder, shape, 0), Position(builder, shape, 1), boxes}) {
    columns.push_back(Reshape(Broadcast(x, shape), column));
  }
  const Dim count = node.dims().Product(shape);
  return Compact(Reshape(Concat(columns, 3), {count, 3}), Reshape(boxes >= 0, {count}));
}

Tensors NonMaxSuppression(const Node& node) {
  const Tensor &boxes = node[0], &scores = node[1], &overlap = node[3], &least = node[4];
  if (boxes.rank() != 3 || scores.rank() != 3) Fail("boxes or scores have another rank than 3");
  Builder& builder = node.builder();
  const Tensor all = Broadcast(builder.Scalar(DType::kBool, 1), scores.shape());
  const Tensor left = least ? scores > node.ScalarOf(least) : all;
  const Tensor limit = overlap ? node.ScalarOf(overlap) : builder.Scalar(boxes.dtype(), 0);
  const Closure closure(builder, {{"edges", EdgesOf(node, boxes)}, {"scores", scores}, {"overlap", limit}}, {left});
  const auto body = [](Region& region, const Tensors& captured, const Tensor& step, const Tensors& states) {
    return TakeBest(region, captured[0], captured[1], captured[2], states[0]);
  };
  const Dim most = MostOf(node, node[2], boxes.dim(1));
  const Loop loop = {closure, {"step", "left"}, {left}, body, Element(most), {}, {}};
  return {Listed(node, AppendLoop(loop).rows[0])};
}

constexpr OperatorRow kRows[] = {
    {"", "NonMaxSuppression", 10, "boxes scores max_output_boxes_per_class? iou_threshold? score_threshold?",
     "selected_indices", "center_point_box:int=0", NonMaxSuppression},
};

}  // namespace

std::span<const OperatorRow> SuppressionOperators() { return kRows; }

}  // namespace tailor::onnx
