// Operators that give shapes, and that give a tensor another one.
#include <algorithm>
#include <set>
#include <string>

#include "bindings/onnx/graph_importer.h"
#include "bindings/onnx/node.h"
#include "bindings/onnx/operators.h"

namespace tailor::onnx {
namespace {

using frontend::Builder;
using frontend::Dim;
using frontend::Dims;
using frontend::Element;
using frontend::Fail;
using frontend::Tensor;

std::string TextOf(Dims& dims, const frontend::Shape& shape) {
  std::string text;
  for (const Dim& dim : shape) text += (text.empty() ? "" : ", ") + dims.Text(dim);
  return "[" + text + "]";
}

Tensors Shape(const Node& node) {
  const Tensor& x = node[0];
  const auto clamped = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + x.rank() : at, 0, x.rank()); };
  const int64_t start = clamped(node.Int("start", 0)), end = clamped(node.Int("end", x.rank()));
  std::vector<Element> sizes;
  for (int64_t i = start; i < end; ++i) sizes.emplace_back(x.shape()[static_cast<size_t>(i)]);
  return {node.builder().List(std::move(sizes))};
}

Tensors Size(const Node& node) { return {node.builder().Number(node.dims().Product(node[0].shape()))}; }

// A reshape's target with the parts that only a run knows as dims: what their 0 and -1 stand for, the run decides.
frontend::Shape Target(const Node& node, const Tensor& x, const std::vector<Element>& parts, bool copies) {
  Builder& builder = node.builder();
  std::vector<Tensor> computed(parts.size());
  frontend::Shape target(parts.size());
  bool any = false, infers = false;
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto rank = static_cast<size_t>(x.rank());
    if (parts[i].is_dim() && !node.dims().MayBePlaceholder(parts[i].dim)) {
      target[i] = parts[i].dim;
      infers = infers || target[i].is(-1);
      continue;
    }
    const Tensor number = builder.NumberOf(parts[i]);
    Tensor value = builder.OfValue(number.value(), number.sources());
    if (copies && i < rank) value = Select(Eq(value, 0), builder.Number(x.shape()[i]), value);
    computed[i] = value;
    any = true;
  }
  if (!any) return target;
  Tensor left;  // the size for a -1: what the other sizes leave
  for (size_t i = 0; !infers && i < parts.size(); ++i) {
    if (i == 0) left = builder.Number(node.dims().Product(x.shape()));
    const bool same = copies && target[i].is(0) && i < x.shape().size();
    left = left / Abs(computed[i] ? computed[i] : builder.Number(same ? x.shape()[i] : target[i]));
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    if (computed[i]) target[i] = builder.DimOf(infers ? computed[i] : Select(computed[i] < 0, left, computed[i]));
  }
  return target;
}

// The product of `dims` over that of `others`. Dims of both cancel first, for they may be 0.
Dim Rest(Dims& dims, const frontend::Shape& all, frontend::Shape others) {
  frontend::Shape kept;
  for (const Dim& dim : all) {
    const auto same = std::find(others.begin(), others.end(), dim);
    if (same == others.end()) {
      kept.push_back(dim);
    } else {
      others.erase(same);
    }
  }
  const Dim total = dims.Product(kept), known = dims.Product(others);
  if (known.is(0)) return 0;
  if (total.known() && known.known() && total.number() % known.number() != 0) {
    Fail(dims.Text(total) + " elements do not divide into rows of " + dims.Text(known));
  }
  return dims.FloorDiv(total, known);
}

// `target` with its 0, where it `copies`, and its -1 resolved.
frontend::Shape Resolved(Dims& dims, const frontend::Shape& from, const frontend::Shape& target, bool copies) {
  frontend::Shape shape = target;
  size_t unknown = shape.size();
  for (size_t i = 0; i < shape.size(); ++i) {
    if (copies && shape[i].is(0)) {
      if (i >= from.size()) Fail("the 0 in shape " + TextOf(dims, target) + " has no dim to copy");
      shape[i] = from[i];
    }
    if (!shape[i].known() || shape[i].number() >= 0) continue;
    if (!shape[i].is(-1) || unknown < shape.size()) Fail(TextOf(dims, target) + " is no shape");
    unknown = i;
  }
  if (unknown < shape.size()) {
    frontend::Shape others = shape;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(unknown));
    shape[unknown] = Rest(dims, from, std::move(others));
  }
  for (Dim& dim : shape) dim = dims.NonNegative(dim) ? dim : dims.Max(dim, 0);
  return shape;
}

Tensors Reshape(const Node& node) {
  const Tensor& x = node[0];
  const bool copies = node.Int("allowzero", 0) == 0;
  const frontend::Shape target = Target(node, x, node.Parts(node[1], "the shape"), copies);
  return {Reshape(x, Resolved(node.dims(), x.shape(), target, copies))};
}

Tensors Transpose(const Node& node) {
  std::vector<int64_t> reversed;
  for (int64_t axis = node[0].rank(); axis-- > 0;) reversed.push_back(axis);
  return {Transpose(node[0], node.Ints("perm", reversed))};
}

// The list of axes: an operand, or before opset 13 an attribute.
std::vector<int64_t> AxesOf(const Node& node) {
  return node[1] ? node.KnownInts(node[1], "the list of axes") : node.Ints("axes");
}

// Fails because only a run knows whether a dim is 1.
[[noreturn]] void FailForOne(const Node& node, const Tensor& x, int axis) {
  Dims& dims = node.dims();
  const std::string what = "dim " + std::to_string(axis) + " of its input \"" + std::string(node.proto().inputs.at(0)) +
                           "\" is " + dims.Text(x.dim(axis)) + ", which may be 1: without axes, the rank of its result";
  std::set<std::string> names;
  for (const Dim& symbol : dims.Symbols(x.dim(axis))) {
    if (!node.importer().SizesInputs(symbol)) node.DependsOnData(x, what);
    names.insert(dims.Text(symbol));
  }
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  frontend::Unsupported(what + " depends on that; load with dims= that give " + list +
                        " a fixed size or a range without 1, or give the node axes");
}

// Drops or keeps a dim for which only runs know whether it is 1, as the attempt at importing the model says; runs check
// it. Not in loops (operators_control.cc), nor where data gives the size.
bool IsDropped(const Node& node, const Tensor& x, int axis) {
  ModelImport& model = node.importer().model();
  Dims& dims = node.dims();
  const Dim& dim = x.dim(axis);
  const std::vector<Dim> symbols = dims.Symbols(dim);
  const bool sizes_inputs =
      std::all_of(symbols.begin(), symbols.end(), [&](const Dim& s) { return node.importer().SizesInputs(s); });
  if (!sizes_inputs || node.importer().nesting().loops > 0) FailForOne(node, x, axis);
  if (model.open_squeezes == OpenSqueezes::kRefuse) {
    model.refused_squeeze = true;
    FailForOne(node, x, axis);
  }
  const bool drops = model.open_squeezes == OpenSqueezes::kDrop;
  const std::string what =
      node.Label() + (drops ? " drops dim " : " keeps dim ") + std::to_string(axis) + " of \"" +
      std::string(node.proto().inputs.at(0)) + "\", which " + (drops ? "has to" : "must not") +
      " be 1, by the ranks that the model states for its outputs; for other sizes, load with dims= that give its range";
  if (!drops) {
    dims.AssumeAtLeast(dim, 2, what);
    return false;
  }
  dims.AssumeAtLeast(dim, 1, what);
  dims.AssumeAtLeast(dims.Sub(1, dim), 0, what);
  dims.AssumeEqual(dim, 1);
  return true;
}

// The dims that a Squeeze without axes drops: those of size 1.
std::set<int64_t> AxesOfOnes(const Node& node, const Tensor& x) {
  std::set<int64_t> ones;
  for (int i = 0; i < x.rank(); ++i) {
    const std::optional<bool> one = node.dims().IsEqual(x.dim(i), 1);
    if (one ? *one : IsDropped(node, x, i)) ones.insert(i);
  }
  return ones;
}

Tensors Squeeze(const Node& node) {
  const Tensor& x = node[0];
  std::set<int64_t> axes;
  if (node[1] || node.Has("axes")) {
    for (int64_t axis : AxesOf(node)) axes.insert(node.Axis(axis, x.rank()));
  } else {
    axes = AxesOfOnes(node, x);
  }
  frontend::Shape shape;
  for (int i = 0; i < x.rank(); ++i) {
    if (!axes.contains(i)) {
      shape.push_back(x.dim(i));
    } else if (node.dims().IsEqual(x.dim(i), 1) == false) {
      Fail("dim " + std::to_string(i) + " is " + node.dims().Text(x.dim(i)) + ", not 1");
    }
  }
  return {Reshape(x, shape)};
}

Tensors Unsqueeze(const Node& node) {
  const Tensor& x = node[0];
  const std::vector<int64_t> given = AxesOf(node);
  if (given.size() > TAILOR_MAX_RANK) Fail(std::to_string(given.size()) + " axes are too many");
  const int rank = x.rank() + static_cast<int>(given.size());
  std::set<int64_t> axes;
  for (int64_t axis : given) {
    if (!axes.insert(node.Axis(axis, rank)).second) Fail("an axis is given twice");
  }
  frontend::Shape shape;
  for (int i = 0, next = 0; i < rank; ++i) shape.push_back(axes.contains(i) ? Dim(1) : x.dim(next++));
  return {Reshape(x, shape)};
}

Tensors Flatten(const Node& node) {
  const Tensor& x = node[0];
  const int64_t given = node.Int("axis");
  if (given < -x.rank() || given > x.rank()) {
    Fail("axis " + std::to_string(given) + " is out of range for rank " + std::to_string(x.rank()));
  }
  const auto split = x.shape().begin() + (given < 0 ? given + x.rank() : given);
  Dims& dims = node.dims();
  return {Reshape(x, {dims.Product({x.shape().begin(), split}), dims.Product({split, x.shape().end()})})};
}

Tensors Concat(const Node& node) {
  if (!node[0]) Fail("has no operands");
  return {Concat(node.all(), node.Axis(node.Int("axis"), node[0].rank()))};
}

int64_t BlockSize(const Node& node) {
  const int64_t block = node.Int("blocksize");
  if (node[0].rank() != 4) Fail("needs rank 4, not " + std::to_string(node[0].rank()));
  if (block < 1) Fail("blocksize is " + std::to_string(block) + ", not at least 1");
  return block;
}

Tensors DepthToSpace(const Node& node) {
  const Tensor& x = node[0];
  const int64_t block = BlockSize(node);
  const std::string mode = node.Has("mode") ? node.String("mode") : "DCR";
  if (mode != "DCR" && mode != "CRD") Fail("unknown mode \"" + mode + "\"");
  Dims& dims = node.dims();
  const Dim batch = x.dim(0), height = x.dim(2), width = x.dim(3);
  const Dim inner = dims.FloorDiv(x.dim(1), dims.Mul(block, block));
  const bool inner_first = mode == "CRD";
  const Tensor apart = inner_first ? Reshape(x, {batch, inner, block, block, height, width})
                                   : Reshape(x, {batch, block, block, inner, height, width});
  const Tensor moved = inner_first ? Transpose(apart, {0, 1, 4, 2, 5, 3}) : Transpose(apart, {0, 3, 4, 1, 5, 2});
  return {Reshape(moved, {batch, inner, dims.Mul(height, block), dims.Mul(width, block)})};
}

Tensors SpaceToDepth(const Node& node) {
  const Tensor& x = node[0];
  const int64_t block = BlockSize(node);
  Dims& dims = node.dims();
  const Dim rows = dims.FloorDiv(x.dim(2), block), columns = dims.FloorDiv(x.dim(3), block);
  const Tensor apart = Reshape(x, {x.dim(0), x.dim(1), rows, block, columns, block});
  const Dim depth = dims.Product({x.dim(1), block, block});
  return {Reshape(Transpose(apart, {0, 3, 5, 1, 2, 4}), {x.dim(0), depth, rows, columns})};
}

constexpr OperatorRow kShapeRows[] = {
    {"", "Concat", 4, "inputs*", "concat_result", "axis:int!", Concat, kMoves},
    {"", "DepthToSpace", 1, "input", "output", "blocksize:int!", DepthToSpace},
    {"", "DepthToSpace", 11, "input", "output", "blocksize:int! mode:string=DCR", DepthToSpace},
    {"", "Flatten", 1, "input", "output", "axis:int=1", Flatten, kMoves},
    {"", "Reshape", 5, "data shape", "reshaped", "", Reshape, kMoves},
    {"", "Reshape", 14, "data shape", "reshaped", "allowzero:int=0", Reshape, kMoves},
    {"", "Shape", 1, "data", "shape", "", Shape},
    {"", "Shape", 15, "data", "shape", "end:int start:int=0", Shape},
    {"", "Size", 1, "data", "size", "", Size},
    {"", "SpaceToDepth", 1, "input", "output", "blocksize:int!", SpaceToDepth},
    {"", "Squeeze", 1, "data", "squeezed", "axes:ints", Squeeze, kMoves},
    {"", "Squeeze", 13, "data axes?", "squeezed", "", Squeeze, kMoves},
    {"", "Transpose", 1, "data", "transposed", "perm:ints", Transpose, kMoves},
    {"", "Unsqueeze", 1, "data", "expanded", "axes:ints!", Unsqueeze, kMoves},
    {"", "Unsqueeze", 13, "data axes", "expanded", "", Unsqueeze, kMoves},
};

}  // namespace

std::span<const OperatorRow> ShapeOperators() { return kShapeRows; }

}  // namespace tailor::onnx
