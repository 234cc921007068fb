// Sequences of tensors. Importing resolves them: it knows which tensor each position holds, or that the positions are
// the entries of one tensor. Graphs have no sequences.
#include <algorithm>
#include <string>
#include <utility>

#include "bindings/frontend/builder.h"
#include "bindings/onnx/data_types.h"
#include "bindings/onnx/graph_importer.h"
#include "bindings/onnx/node.h"

namespace tailor::onnx {
namespace {

using frontend::Dim;
using frontend::Fail;
using frontend::Sequence;
using frontend::Shape;
using frontend::Tensor;

// Of a sequence whose tensors importing knows one by one, and of all together.
constexpr int64_t kMostItems = 4096, kMostItemsOfModel = 1 << 20;

const Sequence& SequenceOf(const Tensor& operand) {
  if (operand.sequence() == nullptr) Fail("its operand is a tensor, not a sequence");
  return *operand.sequence();
}

Tensors Made(const Node& node, Tensors items, DType dtype) {
  if (static_cast<int64_t>(items.size()) > kMostItems) {
    frontend::Unsupported("a sequence has more than " + std::to_string(kMostItems) + " tensors");
  }
  int64_t& all = node.importer().model().sequence_items;
  if ((all += static_cast<int64_t>(items.size())) > kMostItemsOfModel) {
    frontend::Unsupported("sequences have more than " + std::to_string(kMostItemsOfModel) + " tensors in all");
  }
  return {node.builder().OfSequence({std::move(items), {}}, dtype)};
}

// Entry `index` of `rows` along dim 0.
Tensor RowAt(const Tensor& rows, const Tensor& index) { return Gather(rows, index, 0).With(rows.narrow()); }

Tensors ItemsOf(const Node& node, const Tensor& operand) {
  const Sequence& sequence = SequenceOf(operand);
  if (!sequence.rows) return sequence.items;
  const Dim& length = sequence.rows.dim(0);
  if (!length.known() || length.number() > kMostItems) {
    frontend::Unsupported("the length of its sequence, " + node.dims().Text(length) + ", is not fixed");
  }
  Tensors items;
  for (int64_t i = 0; i < length.number(); ++i) {
    items.push_back(RowAt(sequence.rows, node.builder().Constant(frontend::Array::Scalar(DType::kI64, i))));
  }
  return items;
}

// A position among `count` items, counted from the end if negative; `otherwise` if the node gives none.
int64_t PositionAmong(const Node& node, const Tensor& given, int64_t count, int64_t otherwise) {
  if (!given) return otherwise;
  const auto numbers = node.KnownInts(given, "the position");
  if (numbers.size() != 1) Fail("its position has " + std::to_string(numbers.size()) + " elements, not 1");
  const int64_t position = numbers[0] < 0 ? numbers[0] + count : numbers[0];
  if (position >= 0 && position < count) return position;
  Fail("position " + std::to_string(numbers[0]) + " is out of range for " + std::to_string(count));
}

Tensors Empty(const Node& node) { return Made(node, {}, node.Has("dtype") ? node.TypeOf("dtype") : DType::kF32); }

Tensors Construct(const Node& node) {
  if (!node[0]) Fail("has no operands");
  for (const Tensor& item : node.all()) {
    if (item.dtype() != node[0].dtype()) Fail("its tensors have different types");
  }
  return Made(node, node.all(), node[0].dtype());
}

Tensors Insert(const Node& node) {
  const Sequence& sequence = SequenceOf(node[0]);
  const Tensor& item = node[1];
  if (item.sequence() != nullptr) frontend::Unsupported("sequences of sequences are not supported");
  const bool is_empty = !sequence.rows && sequence.items.empty();
  if (!is_empty && item.dtype() != node[0].dtype()) {
    Fail(std::string("a tensor of type ") + NameOf(item.dtype()) + " in a sequence of " + NameOf(node[0].dtype()));
  }
  if (sequence.rows && !node[2] && !sequence.rows.dim(0).known()) {  // at the end
    const Shape& all = sequence.rows.shape();
    if (item.shape() != Shape(all.begin() + 1, all.end())) {
      frontend::Unsupported("the length of its sequence, " + node.dims().Text(all[0]) +
                            ", is not fixed: a tensor of another shape is not supported in it");
    }
    const Tensor rows = frontend::Concat({sequence.rows, InsertAxis(item, 0)}, 0).With(item.narrow());
    return {node.builder().OfSequence({{}, rows}, item.dtype())};
  }
  Tensors items = ItemsOf(node, node[0]);
  const auto count = static_cast<int64_t>(items.size());
  items.insert(items.begin() + PositionAmong(node, node[2], count + 1, count), item);
  return Made(node, std::move(items), item.dtype());
}

Tensors Erase(const Node& node) {
  Tensors items = ItemsOf(node, node[0]);
  const auto count = static_cast<int64_t>(items.size());
  if (count == 0) Fail("its sequence is empty");
  items.erase(items.begin() + PositionAmong(node, node[1], count, count - 1));
  return Made(node, std::move(items), node[0].dtype());
}

Tensors At(const Node& node) {
  const Sequence& sequence = SequenceOf(node[0]);
  if (sequence.rows) return {RowAt(sequence.rows, node.ScalarOf(node[1]))};
  return {sequence.items[PositionAmong(node, node[1], static_cast<int64_t>(sequence.items.size()), 0)]};
}

Tensors Length(const Node& node) {
  const Sequence& sequence = SequenceOf(node[0]);
  const Dim count = sequence.rows ? sequence.rows.dim(0) : Dim(static_cast<int64_t>(sequence.items.size()));
  return {node.builder().Of({count}, DType::kI64, {})};
}

Tensor WithoutAxis(const Tensor& x, int64_t axis) {
  Shape shape = x.shape();
  shape.erase(shape.begin() + axis);
  return Reshape(x, shape).With(x.narrow());
}

// The sizes along the axis, of `size`, of the parts that a tensor is split into.
Shape PartsOf(const Node& node, const Dim& size) {
  if (node[1] && node[1].rank() == 1) {
    const Shape sizes = node.DimsOf(node[1], "the sizes");
    DemandSum(node, sizes, size);
    return sizes;
  }
  if (node[1]) DemandRank(node[1], 0, "the size of a part");
  const int64_t part = node[1] ? node.KnownInts(node[1], "the size of a part")[0] : 1;
  if (part < 1) Fail("the size of a part is " + std::to_string(part));
  if (!size.known()) frontend::Unsupported("the number of parts depends on the dim size " + node.dims().Text(size));
  Shape sizes;
  for (int64_t begin = 0; begin < size.number(); begin += part) {
    if (static_cast<int64_t>(sizes.size()) == kMostItems) frontend::Unsupported("there are too many parts");
    sizes.emplace_back(std::min(part, size.number() - begin));
  }
  return sizes;
}

Tensors SplitToSequence(const Node& node) {
  const Tensor& x = node[0];
  const int64_t axis = node.Axis(node.Int("axis"), x.rank());
  const Dim size = x.dim(static_cast<int>(axis));
  const bool keeps_dim = node[1] || node.Flag("keepdims");
  if (!node[1] && !size.known()) {
    const Tensor rows = MoveAxis(x, axis, 0);
    return {node.builder().OfSequence({{}, keeps_dim ? InsertAxis(rows, axis + 1) : rows}, x.dtype())};
  }
  Tensors items;
  Dim start = 0;
  for (const Dim& part : PartsOf(node, size)) {
    const Tensor item = SliceAxis(x, axis, start, part).With(x.narrow());
    items.push_back(keeps_dim ? item : WithoutAxis(item, axis));
    start = node.dims().Add(start, part);
  }
  return Made(node, std::move(items), x.dtype());
}

Tensors ConcatFromSequence(const Node& node) {
  const Sequence& sequence = SequenceOf(node[0]);
  const bool stacks = node.Flag("new_axis");
  if (sequence.rows) {
    const int rank = sequence.rows.rank() - (stacks ? 0 : 1);
    const int64_t axis = node.Axis(node.Int("axis"), rank);
    const Tensor moved = MoveAxis(sequence.rows, 0, axis);
    if (stacks) return {moved};
    Shape shape = moved.shape();
    shape[axis] = node.dims().Mul(shape[axis], shape[axis + 1]);
    shape.erase(shape.begin() + axis + 1);
    return {Reshape(moved, shape).With(moved.narrow())};
  }
  Tensors items = sequence.items;
  if (items.empty()) Fail("its sequence is empty");
  const int64_t axis = node.Axis(node.Int("axis"), items[0].rank() + (stacks ? 1 : 0));
  if (stacks) {
    for (Tensor& item : items) item = InsertAxis(item, axis);
  }
  return {frontend::Concat(items, axis).With(items[0].narrow())};
}

// The body for each position; operands that are tensors are the same for all.
Tensors SequenceMap(const Node& node) {
  const GraphProto& body = node.Graph("body");
  SequenceOf(node[0]);
  std::vector<Tensors> operands;
  for (const Tensor& operand : node.all()) {
    operands.push_back(operand.sequence() == nullptr ? Tensors() : ItemsOf(node, operand));
    if (operand.sequence() != nullptr && operands.back().size() != operands[0].size()) {
      Fail("its sequences have " + std::to_string(operands[0].size()) + " and " +
           std::to_string(operands.back().size()) + " tensors");
    }
  }
  if (body.inputs.size() != operands.size() || body.outputs.size() < static_cast<size_t>(node.outputs())) {
    Fail("its body has " + std::to_string(body.inputs.size()) + " inputs and " + std::to_string(body.outputs.size()) +
         " outputs for " + std::to_string(operands.size()) + " operands and " + std::to_string(node.outputs()) +
         " results");
  }
  std::vector<Tensors> results(body.outputs.size());
  for (size_t i = 0; i < operands[0].size(); ++i) {
    const SubgraphImport counted(node.importer().model(), i);
    Scope scope(&node.scope());
    for (size_t j = 0; j < operands.size(); ++j) {
      scope.Set(body.inputs[j].name,
                node[static_cast<int>(j)].sequence() == nullptr ? node[static_cast<int>(j)] : operands[j][i]);
    }
    const Tensors outputs = node.importer().ImportSubgraph(body, node.opsets(), scope, node.depth() + 1);
    for (size_t j = 0; j < outputs.size(); ++j) results[j].push_back(outputs[j]);
  }
  Tensors sequences;
  for (const Tensors& items : results) {
    sequences.push_back(Made(node, items, items.empty() ? DType::kF32 : items[0].dtype())[0]);
  }
  return sequences;
}

constexpr OperatorRow kSequenceRows[] = {
    {"", "ConcatFromSequence", 11, "input_sequence", "concat_result", "axis:int! new_axis:int=0", ConcatFromSequence,
     kReads, /*takes_sequences=*/true},
    {"", "SequenceAt", 11, "input_sequence position", "tensor", "", At, kReads, /*takes_sequences=*/true},
    {"", "SequenceConstruct", 11, "inputs*", "output_sequence", "", Construct, kReads},
    {"", "SequenceEmpty", 11, "", "output", "dtype:int", Empty},
    {"", "SequenceErase", 11, "input_sequence position?", "output_sequence", "", Erase, kReads,
     /*takes_sequences=*/true},
    {"", "SequenceInsert", 11, "input_sequence tensor position?", "output_sequence", "", Insert, kReads,
     /*takes_sequences=*/true},
    {"", "SequenceLength", 11, "input_sequence", "length", "", Length, kReads, /*takes_sequences=*/true},
    {"", "SequenceMap", 17, "input_sequence additional_inputs*", "out_sequence*", "body:graph!", SequenceMap, kReads,
     /*takes_sequences=*/true},
    {"", "SplitToSequence", 11, "input split?", "output_sequence", "axis:int=0 keepdims:int=1", SplitToSequence,
     kReads},
};

}  // namespace

std::span<const OperatorRow> SequenceOperators() { return kSequenceRows; }

}  // namespace tailor::onnx
