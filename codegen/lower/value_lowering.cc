#include "codegen/lower/value_lowering.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>
#include <functional>

#include "absl/strings/str_cat.h"
#include "graph/visits.h"

namespace tailor::lower {

namespace {

// The bound of a dim size that a kernel may use: small bounds make versions unnecessary. Rounded up to a power of two,
// so that similar kernels stay equal; INT64_MAX for large bounds.
int64_t BoundOf(const ShapeFacts& facts, const DimExpr& dim) {
  constexpr int64_t kLargest = 1 << 20;
  const int64_t max = facts.RangeOf(dim).max;
  if (max > kLargest) return INT64_MAX;
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(max, 1))));
}

constexpr size_t kMostLikelyValues = 4;

// Whether expression `of` uses expression `part`.
bool Uses(const KernelPlan& plan, ExprId of, ExprId part) {
  std::vector<ExprId> waiting = {of};
  std::set<ExprId> seen;
  while (!waiting.empty()) {
    const ExprId id = waiting.back();
    waiting.pop_back();
    if (id == part) return true;
    if (id < part || !seen.insert(id).second) continue;  // expressions follow what they use
    waiting.insert(waiting.end(), plan.exprs[id].args.begin(), plan.exprs[id].args.end());
    waiting.push_back(plan.exprs[id].predicate);
  }
  return false;
}

}  // namespace

DimSize ValueLowering::DimSizeOf(const DimExpr& dim) {
  const DimExpr value = facts_.Canonical(dim);
  std::vector<int64_t> likely = facts_.LikelyOf(value, kMostLikelyValues);
  std::erase_if(likely, [](int64_t size) { return size < 0; });
  return plan.AddDim({.value = value, .max = BoundOf(facts_, value), .likely = std::move(likely)});
}

ExprId ValueLowering::Op(OpKind op, DType dtype, std::vector<ExprId> args) {
  return plan.Add({.kind = ExprKind::kOp, .dtype = dtype, .op = op, .args = std::move(args)});
}

int ValueLowering::AddBuffer(BufferKind kind, DType dtype, const Shape& dims, LoweredKernel::Operand operand) {
  Buffer buffer{.kind = kind, .dtype = dtype, .dims = {}, .layout = operand.layout};
  for (const DimExpr& dim : dims) buffer.dims.push_back(DimSizeOf(dim));
  plan.buffers.push_back(std::move(buffer));
  operands.push_back(std::move(operand));
  return static_cast<int>(plan.buffers.size()) - 1;
}

int ValueLowering::InputBuffer(Value v) {
  if (auto it = inputs_.find(v); it != inputs_.end()) return it->second;
  const TensorType& type = graph_.type(v);
  return inputs_[v] = AddBuffer(BufferKind::kInput, type.dtype, type.shape,
                                {.value = v, .dtype = type.dtype, .shape = type.shape});
}

int ValueLowering::OutputBuffer(Value v) {
  const TensorType& type = graph_.type(v);
  return AddBuffer(BufferKind::kOutput, type.dtype, type.shape, {.value = v, .dtype = type.dtype, .shape = type.shape});
}

void ValueLowering::Materialize(Value v, int buffer, Index index) { held_[v] = {buffer, std::move(index)}; }

ExprId ValueLowering::At(Value v, const Index& index, ExprId predicate) {
  CountVisits();
  if (auto it = defined_.find(v); it != defined_.end()) return it->second;
  if (auto it = held_.find(v); it != held_.end()) {
    const Buffer& buffer = plan.buffers[it->second.buffer];
    return plan.Add(
        {.kind = ExprKind::kLoad, .dtype = buffer.dtype, .ref = it->second.buffer, .args = it->second.index});
  }
  if (auto it = placed_.find(v); it != placed_.end()) {
    const DType dtype = graph_.type(v).dtype;
    return plan.Add(
        {.kind = ExprKind::kLoad, .dtype = dtype, .ref = it->second, .args = index, .predicate = predicate});
  }
  auto key = std::make_tuple(v, index, predicate);
  if (auto it = memo_.find(key); it != memo_.end()) return it->second;
  ExprId id = Compute(v, index, predicate);
  memo_[key] = id;
  return id;
}

ExprId ValueLowering::ScalarLiteral(Value v) {
  const DType dtype = graph_.type(v).dtype;
  uint64_t bits = 0;
  std::memcpy(&bits, graph_.constant_data(v.node).data, SizeOf(dtype));
  return plan.Add({.kind = ExprKind::kLiteral, .dtype = dtype, .bits = bits});
}

ExprId ValueLowering::Compute(Value v, const Index& index, ExprId predicate) {
  const Node& node = graph_.node(v.node);
  if (node.op == OpKind::kConstant && graph_.type(v).rank() == 0) return ScalarLiteral(v);
  if (!InGroup(v.node)) {
    const int buffer = InputBuffer(v);
    Index args = index;
    for (size_t d = 0; d < args.size(); ++d) {
      if (plan.buffers[buffer].dims[d] == DimSize{.constant = 1}) args[d] = Dim(0);
    }
    return Load({.kind = ExprKind::kLoad,
                 .dtype = graph_.type(v).dtype,
                 .ref = buffer,
                 .args = std::move(args),
                 .predicate = predicate});
  }
  auto operand_shape = [&](int i) -> const Shape& { return graph_.type(node.operands[i]).shape; };
  const Shape& shape = graph_.type(v).shape;
  switch (node.op) {
    case OpKind::kBroadcast:
      return At(node.operands[0], BroadcastIndex(operand_shape(0), shape, index), predicate);
    case OpKind::kReshape:
      return At(node.operands[0], Relinearize(shape, operand_shape(0), index), predicate);
    case OpKind::kTranspose: {
      Index source(index.size());
      for (size_t i = 0; i < index.size(); ++i) source[node.i64s("permutation")[i]] = index[i];
      return At(node.operands[0], source, predicate);
    }
    case OpKind::kSlice: {
      Index source;
      const std::vector<int64_t>& steps = node.i64s("steps");
      for (size_t d = 0; d < index.size(); ++d) {
        ExprId scaled = IndexOp(ExprKind::kIndexMul, index[d], Dim(steps.empty() ? 1 : steps[d]));
        source.push_back(IndexOp(ExprKind::kIndexAdd, scaled, Dim(node.dims("starts")[d])));
      }
      return At(node.operands[0], source, predicate);
    }
    case OpKind::kIota: {
      ExprId position = index[node.i64("axis")];
      return node.dtype("dtype") == DType::kI64 ? position : Op(OpKind::kCast, node.dtype("dtype"), {position});
    }
    case OpKind::kConcat:
      return Concat(node, index, predicate);
    case OpKind::kPad:
      return Pad(node, index, predicate);
    case OpKind::kWindow: {
      Index source(index.begin(), index.begin() + operand_shape(0).size());
      const std::vector<int64_t>& axes = node.i64s("axes");
      for (size_t i = 0; i < axes.size(); ++i) {
        ExprId start = IndexOp(ExprKind::kIndexMul, source[axes[i]], Dim(node.i64s("strides")[i]));
        ExprId within = IndexOp(ExprKind::kIndexMul, index[source.size() + i], Dim(node.i64s("dilations")[i]));
        source[axes[i]] = IndexOp(ExprKind::kIndexAdd, start, within);
      }
      return At(node.operands[0], source, predicate);
    }
    case OpKind::kGather:
      return Gather(v.node, index, predicate);
    default:
      assert(InfoOf(node.op).fusion == FusionClass::kElementwise && "only elementwise ops are left");
      return Elementwise(node, index, predicate);
  }
}

ExprId ValueLowering::Elementwise(const Node& node, const Index& index, ExprId predicate) {
  std::vector<ExprId> args;
  for (Value operand : node.operands) {
    const Shape& shape = graph_.type(operand).shape;
    args.push_back(At(operand, BroadcastIndex(shape, node.results[0].shape, index), predicate));
  }
  return Op(node.op, node.results[0].dtype, std::move(args));
}

ValueLowering::Index ValueLowering::BroadcastIndex(const Shape& operand, const Shape& result, const Index& index) {
  const size_t skipped = result.size() - operand.size();
  Index source;
  for (size_t d = 0; d < operand.size(); ++d) {
    ExprId at = index[d + skipped];
    if (facts_.Canonical(operand[d]) == DimExpr(1)) {
      at = Dim(0);
    } else if (!facts_.ProvablyEqual(operand[d], result[d + skipped])) {
      at = plan.Add({.kind = ExprKind::kBcastIndex, .dim_size = DimSizeOf(operand[d]), .args = {at}});
    }
    source.push_back(at);
  }
  return source;
}

ValueLowering::Index ValueLowering::Relinearize(const Shape& from, const Shape& to, const Index& index) {
  Index result(to.size(), Dim(0));
  for (const ReshapeGroup& g : MatchReshape(from, to, facts_)) {
    ExprId linear = Dim(0);
    for (int d = g.from_begin; d < g.from_end; ++d) {
      linear = IndexOp(ExprKind::kIndexAdd, IndexOp(ExprKind::kIndexMul, linear, Dim(from[d])), index[d]);
    }
    int first = g.to_begin;  // the outermost dim that is not 1 takes the quotient
    while (first < g.to_end && facts_.Canonical(to[first]) == DimExpr(1)) ++first;
    for (int d = g.to_end - 1; d >= first; --d) {
      result[d] = d == first ? linear : IndexOp(ExprKind::kIndexMod, linear, Dim(to[d]));
      if (d > first) linear = IndexOp(ExprKind::kIndexFloorDiv, linear, Dim(to[d]));
    }
    NoteDirectIndices(g, first, from, to, index, result);
  }
  return result;
}

// Dim d of `to` may be made of whole dims of `from` and a part of one: channels [64, h, w] as groups [32, 2 * h * w].
// Its index then follows from their indices, where that of the whole group would be divided by symbolic dims.
void ValueLowering::NoteDirectIndices(const ReshapeGroup& g, int first, const Shape& from, const Shape& to,
                                      const Index& index, const Index& result) {
  if (g.from_end - g.from_begin < 2 || g.to_end - first < 2) return;
  // An expression stands for the same index wherever it occurs: it must be within its dim by itself, not by a
  // predicate.
  for (int d = g.from_begin; d < g.from_end; ++d) {
    const Expr e = plan.exprs[index[d]];
    const DimSize size = DimSizeOf(from[d]);
    const bool within = e.kind == ExprKind::kAxis       ? plan.axes[e.ref].dim_size == size
                        : e.kind == ExprKind::kIndexMod ? plan.exprs[e.args[1]].dim_size == size
                                                        : index[d] == Dim(0);
    if (!within) return;
  }
  const auto divides = [&](const DimExpr& part, const DimExpr& whole) {
    return facts_.ProvablyEqual(DimExpr::FloorDiv(whole, part) * part, whole);
  };
  std::vector<std::pair<DimExpr, ExprId>> left;  // sizes and indices of what is left of `from`
  for (int d = g.from_begin; d < g.from_end; ++d) left.emplace_back(from[d], index[d]);
  for (int d = g.to_end - 1; d >= first; --d) {
    ExprId direct = Dim(0);
    DimExpr size = 1;  // of the dims in `direct`
    while (d == first ? !left.empty() : !facts_.ProvablyEqual(size, to[d])) {
      if (left.empty()) return;
      auto& [extent, at] = left.back();
      const DimExpr missing = DimExpr::FloorDiv(to[d], size);
      if (d == first || divides(extent, missing)) {
        direct = IndexOp(ExprKind::kIndexAdd, IndexOp(ExprKind::kIndexMul, at, Dim(size)), direct);
        size = size * extent;
        left.pop_back();
        continue;
      }
      if (!divides(size, to[d]) || !divides(missing, extent)) return;
      const ExprId digit = IndexOp(ExprKind::kIndexMod, at, Dim(missing));
      direct = IndexOp(ExprKind::kIndexAdd, IndexOp(ExprKind::kIndexMul, digit, Dim(size)), direct);
      size = to[d];
      at = IndexOp(ExprKind::kIndexFloorDiv, at, Dim(missing));
      extent = DimExpr::FloorDiv(extent, missing);
    }
    const ExprKind kind = plan.exprs[result[d]].kind;
    if (kind == ExprKind::kIndexFloorDiv || kind == ExprKind::kIndexMod) direct_[result[d]] = direct;
  }
}

ExprId ValueLowering::Load(Expr load) {
  const ExprId id = plan.Add(load);
  Index args = plan.exprs[id].args;  // where dims of the buffer are adjacent parts of one index, they have become one
  for (ExprId& arg : args) {
    if (const auto it = direct_.find(arg); it != direct_.end()) arg = it->second;
  }
  if (args == plan.exprs[id].args) return id;
  load.args = std::move(args);
  return plan.Add(std::move(load));
}

ValueLowering::Index ValueLowering::Forward(NodeId id, const Index& index) {
  const Node& node = graph_.node(id);
  if (node.op == OpKind::kTranspose) {
    Index result;
    for (int64_t source : node.i64s("permutation")) result.push_back(index[source]);
    return result;
  }
  assert(node.op == OpKind::kReshape && "only one-to-one views are applied to stores");
  return Relinearize(graph_.type(node.operands[0]).shape, node.results[0].shape, index);
}

// A balanced tree of selects: only the operand whose range contains the index is read; the other reads are masked.
ExprId ValueLowering::Concat(const Node& node, const Index& index, ExprId predicate) {
  const int64_t axis_attribute = node.i64("axis");
  const size_t axis = axis_attribute < 0 ? axis_attribute + index.size() : axis_attribute;
  const size_t count = node.operands.size();
  std::vector<ExprId> is_below;  // the end of each operand but the last, which ends where the result does
  std::vector<ExprId> values;
  DimExpr start = 0;
  for (size_t i = 0; i < count; ++i) {
    const DimExpr end = start + graph_.type(node.operands[i]).shape[axis];
    ExprId inside = predicate;
    const auto require = [&](ExprId condition) {
      inside = inside < 0 ? condition : Op(OpKind::kAnd, DType::kBool, {condition, inside});
    };
    if (i > 0) require(Op(OpKind::kNot, DType::kBool, {is_below.back()}));
    if (i + 1 < count) require(is_below.emplace_back(IndexOp(ExprKind::kIndexLess, index[axis], Dim(end))));
    Index source = index;
    source[axis] = IndexOp(ExprKind::kIndexSub, index[axis], Dim(start));
    values.push_back(At(node.operands[i], source, inside));
    start = end;
  }
  const std::function<ExprId(size_t, size_t)> choose = [&](size_t begin, size_t end) {
    if (end - begin == 1) return values[begin];
    const size_t middle = begin + (end - begin) / 2;
    const ExprId low = choose(begin, middle), high = choose(middle, end);
    return Op(OpKind::kSelect, node.results[0].dtype, {is_below[middle - 1], low, high});
  };
  return choose(0, count);
}

// A select between the operand's element and the padding; reads outside the operand are masked.
ExprId ValueLowering::Pad(const Node& node, const Index& index, ExprId predicate) {
  const Shape& shape = graph_.type(node.operands[0]).shape;
  const ExprId padding = At(node.operands[1], {});
  ExprId inside = -1;
  auto require = [&](ExprId condition) {
    inside = inside < 0 ? condition : Op(OpKind::kAnd, DType::kBool, {inside, condition});
  };
  Index source;
  for (size_t d = 0; d < index.size(); ++d) {
    const DimExpr &low = node.dims("low")[d], &high = node.dims("high")[d];
    const int64_t pitch = node.i64s("interior")[d] + 1;
    ExprId position = IndexOp(ExprKind::kIndexSub, index[d], Dim(low));
    if (facts_.RangeOf(low).max > 0) require(IndexOp(ExprKind::kIndexLess, Dim(low - 1), index[d]));
    const DimExpr end = low + shape[d] * pitch - (pitch - 1);
    if (pitch > 1 || facts_.RangeOf(high).max > 0) require(IndexOp(ExprKind::kIndexLess, index[d], Dim(end)));
    if (pitch > 1) {
      require(IndexOp(ExprKind::kIndexLess, IndexOp(ExprKind::kIndexMod, position, Dim(pitch)), Dim(1)));
      position = IndexOp(ExprKind::kIndexFloorDiv, position, Dim(pitch));
    }
    source.push_back(position);
  }
  if (inside < 0) return At(node.operands[0], source, predicate);
  ExprId wanted = predicate < 0 ? inside : Op(OpKind::kAnd, DType::kBool, {inside, predicate});
  return Op(OpKind::kSelect, node.results[0].dtype, {inside, At(node.operands[0], source, wanted), padding});
}

ExprId ValueLowering::GatherIndexOf(NodeId id, Value table, size_t axis, ExprId raw, ExprId predicate) {
  auto [it, added] = fault_of_.try_emplace({id, axis}, static_cast<int>(faults.size()));
  if (added) {
    faults.push_back({absl::StrCat(InfoOf(graph_.node(id).op).text, " ", graph_.NameOf({id, 0}),
                                   ": index {lhs} is out of range for dim ", axis, " of ", graph_.NameOf(table),
                                   ", which has {rhs} entries"),
                      graph_.node(id).name});
    plan.fault_count = static_cast<int>(faults.size());
  }
  const DimSize dim_size = DimSizeOf(graph_.type(table).shape[axis]);
  return plan.Add(
      {.kind = ExprKind::kGatherIndex, .ref = it->second, .dim_size = dim_size, .args = {raw}, .predicate = predicate});
}

ExprId ValueLowering::Gather(NodeId id, const Index& index, ExprId predicate) {
  const Node& node = graph_.node(id);
  const Shape& table = graph_.type(node.operands[0]).shape;
  const int64_t axis_attribute = node.i64("axis");
  const size_t axis = axis_attribute < 0 ? axis_attribute + table.size() : axis_attribute;
  const size_t index_rank = graph_.type(node.operands[1]).shape.size();
  Index position(index.begin() + axis, index.begin() + axis + index_rank);
  ExprId raw = At(node.operands[1], position, predicate);
  ExprId safe = GatherIndexOf(id, node.operands[0], axis, raw, predicate);
  Index source(index.begin(), index.begin() + axis);
  source.push_back(safe);
  source.insert(source.end(), index.begin() + axis + index_rank, index.end());
  if (facts_.RangeOf(table[axis]).min < 1) {  // an empty table has no entry 0 to read
    ExprId present = IndexOp(ExprKind::kIndexLess, Dim(0), Dim(table[axis]));
    predicate = predicate < 0 ? present : Op(OpKind::kAnd, DType::kBool, {predicate, present});
  }
  const ExprId element = At(node.operands[0], source, predicate);
  if (Uses(plan, element, safe)) return element;
  // A table of one entry, or of equal ones, is read without the index, which has to be in range all the same.
  const ExprId inside = IndexOp(ExprKind::kIndexLess, safe, Dim(table[axis]));
  return Op(OpKind::kSelect, node.results[0].dtype, {inside, element, element});
}

}  // namespace tailor::lower
