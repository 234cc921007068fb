// NonMaxSuppression: the candidates of every batch and class are sorted by score, then taken in blocks. A block is
// first compared with the boxes found before it, then with itself.
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

// Boxes by edge, and their areas, of one shape.
struct Boxes {
  Tensors edges;  // least y, least x, greatest y, greatest x
  Tensor area;

  Boxes Reshaped(const Shape& shape) const {
    Boxes out = {{}, Reshape(area, shape)};
    for (const Tensor& edge : edges) out.edges.push_back(Reshape(edge, shape));
    return out;
  }
};

// Whether two boxes share more than `limit` >= 0 of their union; the shapes broadcast. Areas are not negative, so if
// one side of the shared box is, no overlap is found. NaN compares false: a box with a NaN has such an area, and the
// boxes of NothingFound share 0 * -inf. Min and Max return NaN, which takes more instructions than these comparisons.
Tensor Overlap(const Boxes& a, const Boxes& b, const Tensor& limit) {
  const auto side = [&](size_t i) {
    const Tensor &begin_a = a.edges[i], &begin_b = b.edges[i], &end_a = a.edges[i + 2], &end_b = b.edges[i + 2];
    return Select(end_a < end_b, end_a, end_b) - Select(begin_a > begin_b, begin_a, begin_b);
  };
  const Tensor height = side(0), shared = Select(height > 0.0, height, 0.0) * side(1);
  return shared > (a.area + b.area - shared) * limit;
}

Tensor Any(const Tensor& mask, const std::vector<int64_t>& axes) {
  return Reduce(ReduceOp::kMax, Cast(mask, DType::kI32), axes) > 0;
}

// x[b, c, indices[b, c, ...]] of x [B, C, N].
Tensor Pick(const Tensor& x, const Tensor& indices) {
  const Shape& out = indices.shape();
  return FlatGather(x, x.shape(), {Position(x.builder(), out, 0), Position(x.builder(), out, 1), indices}, out);
}

struct Candidates {
  Tensor counts;  // i64 [B, C]
  Tensor boxes;   // i64 [B, C, M] by descending score, then by index; M is the greatest count
};

// The boxes that `mask` keeps, [B, C, N] as the scores.
Candidates Sorted(Builder& builder, const Tensor& scores, const Tensor& mask) {
  const Dim rows = builder.dims().Product({scores.dim(0), scores.dim(1)}), all = builder.dims().Product(scores.shape());
  const Shape column = {scores.dim(0), scores.dim(1), 1};
  const Tensor counts = Reduce(ReduceOp::kSum, Cast(mask, DType::kI64), {2});
  const Dim most = builder.DimOf(Element(Max(Reduce(ReduceOp::kMax, counts, {0, 1}), 0)));
  const Tensor index = Broadcast(Position(builder, scores.shape(), 2), scores.shape());
  const Tensor listed = Compact(Reshape(index, {all}), Reshape(mask, {all}));
  const Tensor begin = Reshape(Scan(Reshape(counts, {rows}), 0, "add", false, true), column);
  const Shape shape = {scores.dim(0), scores.dim(1), most};
  const Tensor place = Position(builder, shape, 2), valid = place < Reshape(counts, column);
  const Tensor boxes = Gather(listed, Broadcast(Select(valid, begin + place, 0), shape));
  const Tensor keys = Select(valid, Pick(scores, boxes), -std::numeric_limits<double>::infinity());
  return {counts, Pick(boxes, TopK(keys, most, 2, true).indices)};
}

// A block has so many candidates of every class.
constexpr int64_t kBlock = 64;

// Of a block's candidates [B, C, kBlock], those that no better one of them suppresses. `conflicts` [B, C, kBlock,
// kBlock]: whether the second box suppresses the first, if it is kept. The iteration ends at the only fixed point:
// after n steps the best n candidates are final.
Tensor KeptOfBlock(Builder& builder, const Tensor& candidates, const Tensor& conflicts) {
  const Closure closure(builder, {{"candidates", candidates}, {"conflicts", conflicts}}, {candidates});
  const auto body = [](Region&, const Tensors& captured, const Tensor&, const Tensors& states) -> LoopStep {
    Shape row = states[0].shape();
    row.insert(row.begin() + 2, 1);
    const Tensor kept = captured[0] & Not(Any(captured[1] & Reshape(states[0], row), {3}));
    return {Any(Ne(kept, states[0]), {0, 1, 2}), {kept}, {}};
  };
  const Loop loop = {closure, {"step", "kept"}, {candidates}, body, {}, {}, {}};
  return AppendLoop(loop).states[0];
}

// The boxes found so far lie in chunks of so many of a class.
constexpr int64_t kChunk = 256;

// Flat: a scatter into a reshaped state would copy it. A class has at least one place more than it may have boxes; what
// is not kept is written to the last place, as a box that overlaps none.
struct Found {
  Tensor boxes;    // f32 [B * C * chunks * 5 * kChunk]: edges and area; at first boxes that overlap none
  Tensor indices;  // i64 [B * C * chunks * kChunk]; at first -1
  Tensor counts;   // i64 [B, C]
};

Found NothingFound(Builder& builder, const Shape& rows, DType dtype, const Dim& chunks) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto filled = [&](double value, int64_t count) {
    return Broadcast(builder.Scalar(dtype, value), {rows[0], rows[1], chunks, count, kChunk});
  };
  const auto flat = [&](const Tensor& x) { return Reshape(x, {builder.dims().Product(x.shape())}); };
  return {flat(Concat({filled(kInfinity, 2), filled(-kInfinity, 2), filled(0, 1)}, 3)),
          flat(Broadcast(builder.Scalar(DType::kI64, -1), {rows[0], rows[1], chunks, kChunk})),
          Broadcast(builder.Scalar(DType::kI64, 0), rows)};
}

// Whether each of the boxes [B, C, kBlock] overlaps one that was found: one iteration per chunk. (A slice of all found
// boxes would have a data-dependent dim, and split the body there.)
Tensor Covered(Builder& builder, const Boxes& boxes, const Found& found, const Dim& chunks, const Tensor& limit) {
  const Shape shape = boxes.area.shape();
  const Tensor none = Broadcast(builder.Scalar(DType::kBool, 0), shape);
  std::vector<frontend::NamedTensor> read = {{"found", found.boxes}, {"overlap", limit}, {"area", boxes.area}};
  for (const Tensor& edge : boxes.edges) read.push_back({"edge", edge});
  const Closure closure(builder, read, {none});
  const auto body = [&](Region& region, const Tensors& captured, const Tensor& chunk,
                        const Tensors& states) -> LoopStep {
    const Dim batches = states[0].dim(0), classes = states[0].dim(1);
    const Tensor all = Reshape(captured[0], {batches, classes, region.Inner(chunks), 5, kChunk});
    const Tensor parts = Gather(all, chunk, 2);
    Boxes earlier, here = {{captured.begin() + 3, captured.end()}, captured[2]};
    const auto part = [&](int64_t i) { return Reshape(SliceAxis(parts, 2, i, 1), {batches, classes, kChunk, 1}); };
    for (int64_t i = 0; i < 4; ++i) earlier.edges.push_back(part(i));
    earlier.area = part(4);
    const Tensor overlap = Overlap(here.Reshaped({batches, classes, 1, kBlock}), earlier, captured[1]);
    return {{}, {states[0] | Any(overlap, {2})}, {}};
  };
  const Tensor used = (Reduce(ReduceOp::kMax, found.counts, {0, 1}) + (kChunk - 1)) / kChunk;
  const Loop loop = {closure, {"chunk", "covered"}, {none}, body, builder.Parts(used).value().at(0), {}, {}};
  return AppendLoop(loop).states[0];
}

// The boxes of `indices` [B, C, kBlock]; edges: [B, 4, N].
Boxes BoxesAt(const Tensor& edges, const Tensor& indices) {
  Boxes boxes;
  for (int64_t i = 0; i < 4; ++i) {
    const Tensor line = Reshape(SliceAxis(edges, 1, i, 1), {edges.dim(0), edges.dim(2)});
    const Tensor batch = Position(edges.builder(), indices.shape(), 0);
    boxes.edges.push_back(FlatGather(line, line.shape(), {batch, indices}, indices.shape()));
  }
  boxes.area = Max((boxes.edges[2] - boxes.edges[0]) * (boxes.edges[3] - boxes.edges[1]), 0);
  return boxes;
}

// A state of rows [count, kChunk] of each chunk, with values [B, C, count, kBlock] at places `slots` [B, C, kBlock].
Tensor Put(const Tensor& state, const Tensor& values, const Tensor& slots, const Dim& chunks) {
  Builder& builder = state.builder();
  const Shape &shape = values.shape(), line = {shape[0], shape[1], 1, kBlock};
  const Dim count = shape[2], all = builder.dims().Product(shape);
  const Tensor row_of_class = Reshape(Iota(builder, {builder.dims().Product({shape[0], shape[1]})}, 0, DType::kI64),
                                      {shape[0], shape[1], 1, 1});
  const Tensor slot = Reshape(slots, line), chunk = row_of_class * builder.Number(chunks) + slot / kChunk;
  const Tensor row = chunk * builder.Number(count) + Position(builder, shape, 2);
  const Tensor cell = Broadcast(row * kChunk + Mod(slot, kChunk), shape);
  return Scatter(state, Reshape(cell, {all, 1}), Reshape(values, {all}), "set");
}

// Block `step` of the candidates. A class ends with `most` boxes.
LoopStep TakeBlock(Region& region, const Tensor& edges, const Candidates& candidates, const Tensor& limit,
                   const Tensor& step, const Found& found, const Dim& chunks, const Dim& most_boxes) {
  Builder& builder = region.builder();
  const Dim batches = found.counts.dim(0), classes = found.counts.dim(1);
  const Tensor most = builder.Number(most_boxes), first = step * kBlock;
  const Shape block = {batches, classes, kBlock}, column = {batches, classes, 1}, line = {batches, classes, 1, kBlock};

  const Tensor place = Position(builder, block, 2) + first, valid = place < Reshape(candidates.counts, column);
  const Tensor held = Min(place, builder.Number(candidates.boxes.dim(2)) - 1);
  const Tensor index = Pick(candidates.boxes, Broadcast(held, block));
  const Boxes boxes = BoxesAt(edges, index);

  const Tensor left = valid & Not(Covered(builder, boxes, found, chunks, limit));
  const Tensor better = Position(builder, {kBlock, kBlock}, 1) < Position(builder, {kBlock, kBlock}, 0);
  const Boxes here = boxes.Reshaped({batches, classes, kBlock, 1});
  const Tensor kept = KeptOfBlock(builder, left, Overlap(here, boxes.Reshaped(line), limit) & better);

  const Tensor rank = Scan(Cast(kept, DType::kI64), 2, "add", false, true) + Reshape(found.counts, column);
  const Tensor spare = builder.Number(chunks) * kChunk - 1;
  const Tensor taken = kept & (rank < most), slots = Select(taken, rank, spare);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Tensors parts;
  for (size_t i = 0; i < 4; ++i) parts.push_back(Select(taken, boxes.edges[i], i < 2 ? kInfinity : -kInfinity));
  parts.push_back(Select(taken, boxes.area, 0));
  for (Tensor& part : parts) part = Reshape(part, line);
  const Tensor counts = Min(found.counts + Reduce(ReduceOp::kSum, Cast(kept, DType::kI64), {2}), most);
  const Tensor more = (first + kBlock < candidates.counts) & (counts < most);
  return {Any(more, {0, 1}),
          {Put(found.boxes, Concat(parts, 2), slots, chunks), Put(found.indices, Reshape(index, line), slots, chunks),
           counts},
          {}};
}

// Boxes that were found [B, C, K], -1 for none, as rows (batch, class, box).
Tensor Listed(const Node& node, const Tensor& boxes) {
  Builder& builder = node.builder();
  const Shape& shape = boxes.shape();
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
  const Tensor limit = overlap ? Max(node.ScalarOf(overlap), 0) : builder.Scalar(boxes.dtype(), 0);
  const Tensor mask = least ? scores > node.ScalarOf(least) : Eq(scores, scores);  // no NaN
  const Candidates candidates = Sorted(builder, scores, mask);
  const Dim count = candidates.boxes.dim(2), most = node.dims().Min(MostOf(node, node[2], boxes.dim(1)), count);
  const Shape rows = {scores.dim(0), scores.dim(1)};
  const Dim chunks = node.dims().CeilDiv(node.dims().Add(most, 1), kChunk);
  const Found none = NothingFound(builder, rows, boxes.dtype(), chunks);
  const Tensors states = {none.boxes, none.indices, none.counts};
  const Closure closure(builder,
                        {{"edges", EdgesOf(node, boxes)},
                         {"counts", candidates.counts},
                         {"candidates", candidates.boxes},
                         {"overlap", limit}},
                        states);
  const auto body = [&](Region& region, const Tensors& captured, const Tensor& step, const Tensors& found) {
    return TakeBlock(region, captured[0], {captured[1], captured[2]}, captured[3], step, {found[0], found[1], found[2]},
                     region.Inner(chunks), region.Inner(most));
  };
  const Tensor begins = builder.Number(most) > 0;
  const Loop loop = {closure, {"step", "boxes", "indices", "counts"}, states, body, {}, begins, {}};
  const Dim places = node.dims().Mul(chunks, kChunk);
  const Tensor found = Reshape(AppendLoop(loop).states[1], {rows[0], rows[1], places});
  return {Listed(node, SliceAxis(found, 2, 0, most))};
}

constexpr OperatorRow kSuppressionRows[] = {
    {"", "NonMaxSuppression", 10, "boxes scores max_output_boxes_per_class? iou_threshold? score_threshold?",
     "selected_indices", "center_point_box:int=0", NonMaxSuppression},
};

}  // namespace

std::span<const OperatorRow> SuppressionOperators() { return kSuppressionRows; }

}  // namespace tailor::onnx
