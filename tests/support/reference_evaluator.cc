#include "tests/support/reference_evaluator.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <functional>
#include <string>

#include "absl/strings/str_cat.h"
#include "graph/status_macros.h"
#include "tests/support/reference_accumulate.h"
#include "tests/support/reference_scalar.h"
#include "tests/support/reference_shapes.h"

namespace tailor::reference {
namespace {

// Calls visit(index) for every index into `dims`, in row-major order.
void ForEachIndex(const Dims& dims, const std::function<void(const Dims&)>& visit) {
  Dims index(dims.size(), 0);
  for (int64_t count = CountOf(dims); count > 0; --count) {
    visit(index);
    for (size_t d = dims.size(); d-- > 0 && ++index[d] == dims[d];) index[d] = 0;
  }
}

int64_t OffsetOf(const Dims& dims, const Dims& index) {
  int64_t offset = 0;
  for (size_t d = 0; d < dims.size(); ++d) offset = offset * dims[d] + index[d];
  return offset;
}

const Element& At(const Array& array, const Dims& index) { return array.elements[OffsetOf(array.dims, index)]; }

// The element that a numpy broadcast puts at `index` of a result.
const Element& BroadcastAt(const Array& array, const Dims& index) {
  Dims own(index.end() - static_cast<int64_t>(array.dims.size()), index.end());
  for (size_t d = 0; d < own.size(); ++d) {
    if (array.dims[d] == 1) own[d] = 0;
  }
  return At(array, own);
}

class Evaluator {
 public:
  Evaluator(const Graph& graph, const std::vector<int64_t>& symbols, const std::vector<Array>& inputs,
            const std::vector<Dims>& dims)
      : graph_(graph), symbols_(symbols), inputs_(inputs), dims_(dims), arrays_(dims.size()) {}

  Evaluation Run() {
    std::vector<bool> needed(dims_.size(), false);
    for (const Output& output : graph_.outputs()) needed[output.value.node] = true;
    for (size_t id = dims_.size(); id-- > 0;) {
      if (!needed[id]) continue;
      for (Value operand : graph_.node(static_cast<NodeId>(id)).operands) needed[operand.node] = true;
    }
    for (NodeId id = 0; id < static_cast<NodeId>(dims_.size()); ++id) {
      if (needed[id]) arrays_[id] = EvaluateNode(id);
    }
    for (const Output& output : graph_.outputs()) result_.outputs.push_back(arrays_[output.value.node]);
    return std::move(result_);
  }

 private:
  const Array& Operand(const Node& node, size_t i) const { return arrays_[node.operands[i].node]; }

  Array EvaluateNode(NodeId id) {
    const Node& node = graph_.node(id);
    const DType dtype = node.results[0].dtype;
    if (node.op == OpKind::kInput) {
      const auto inputs = graph_.inputs();
      const Array& input = inputs_[std::find(inputs.begin(), inputs.end(), id) - inputs.begin()];
      assert(input.dims == dims_[id] && input.dtype == dtype);
      return input;
    }
    if (node.op == OpKind::kConstant) return FromBytes(dtype, dims_[id], graph_.constant_data(id).data);
    if (InfoOf(node.op).fusion == FusionClass::kReduction) return Reduce(node, dims_[id]);
    if (node.op == OpKind::kReshape) return {dtype, dims_[id], Operand(node, 0).elements};
    if (node.op == OpKind::kScatter) return Scatter(id);
    if (node.op == OpKind::kScan) return Scan(node);
    Array result{dtype, dims_[id], {}};
    ForEachIndex(dims_[id], [&](const Dims& index) { result.elements.push_back(ElementOf(id, index)); });
    return result;
  }

  Element ElementOf(NodeId id, const Dims& index) {
    const Node& node = graph_.node(id);
    switch (node.op) {
      case OpKind::kCast:
        return Cast(Operand(node, 0).dtype, node.results[0].dtype, At(Operand(node, 0), index));
      case OpKind::kBitcast:
        return Bitcast(Operand(node, 0).dtype, node.results[0].dtype, At(Operand(node, 0), index));
      case OpKind::kIota:
        return Cast(DType::kI64, node.results[0].dtype, {static_cast<long double>(index[node.i64("axis")])});
      case OpKind::kBroadcast:
        return BroadcastAt(Operand(node, 0), index);
      case OpKind::kTranspose: {
        Dims source(index.size());
        for (size_t i = 0; i < index.size(); ++i) source[node.i64s("permutation")[i]] = index[i];
        return At(Operand(node, 0), source);
      }
      case OpKind::kSlice: {
        Dims source;
        for (size_t d = 0; d < index.size(); ++d) {
          source.push_back(*EvaluateDim(node.dims("starts")[d], symbols_) + index[d] * node.i64s("steps")[d]);
        }
        return At(Operand(node, 0), source);
      }
      case OpKind::kConcat:
        return ConcatAt(node, index);
      case OpKind::kPad:
        return PadAt(node, index);
      case OpKind::kWindow: {
        const std::vector<int64_t>& axes = node.i64s("axes");
        Dims source(index.begin(), index.end() - static_cast<int64_t>(axes.size()));
        for (size_t i = 0; i < axes.size(); ++i) {
          source[axes[i]] *= node.i64s("strides")[i];
          source[axes[i]] += index[source.size() + i] * node.i64s("dilations")[i];
        }
        return At(Operand(node, 0), source);
      }
      case OpKind::kGather:
        return GatherAt(id, index);
      case OpKind::kDot:
        return DotAt(node, index);
      default: {
        std::vector<Element> args;
        for (Value operand : node.operands) args.push_back(BroadcastAt(arrays_[operand.node], index));
        return Apply(node.op, graph_.type(node.operands.back()).dtype, args);
      }
    }
  }

  Element ConcatAt(const Node& node, Dims index) const {
    int64_t& position = index[node.i64("axis")];
    for (size_t i = 0;; ++i) {
      const int64_t extent = Operand(node, i).dims[node.i64("axis")];
      if (position < extent) return At(Operand(node, i), index);
      position -= extent;
    }
  }

  Element PadAt(const Node& node, const Dims& index) const {
    const Array& x = Operand(node, 0);
    Dims source;
    for (size_t d = 0; d < index.size(); ++d) {
      const int64_t pitch = node.i64s("interior")[d] + 1;
      const int64_t position = index[d] - *EvaluateDim(node.dims("low")[d], symbols_);
      if (position < 0 || position % pitch != 0 || position / pitch >= x.dims[d]) return Operand(node, 1).elements[0];
      source.push_back(position / pitch);
    }
    return At(x, source);
  }

  Element GatherAt(NodeId id, const Dims& index) {
    const Node& node = graph_.node(id);
    const Array &table = Operand(node, 0), &positions = Operand(node, 1);
    const auto first = index.begin() + node.i64("axis");
    const auto last = first + static_cast<int64_t>(positions.dims.size());
    const Element& position = At(positions, Dims(first, last));
    const int64_t entry = EntryOf(id, position, table.dims[node.i64("axis")]);
    if (entry < 0) return Unknown();
    Dims source(index.begin(), first);
    source.push_back(entry);
    source.insert(source.end(), last, index.end());
    return At(table, source);
  }

  // The entry of a dim of `extent` that `position` names, -1 where the run fails.
  int64_t EntryOf(NodeId id, const Element& position, int64_t extent) {
    const auto at = static_cast<int64_t>(position.value);
    if (position.known() && at >= -extent && at < extent) return at < 0 ? at + extent : at;
    result_.faults.push_back(absl::StrCat(InfoOf(graph_.node(id).op).text, " %", id, ": ",
                                          position.known() ? absl::StrCat("index ", at) : "an unknown index", " of ",
                                          extent));
    return -1;
  }

  // Each element is a reduction of those up to it.
  Array Scan(const Node& node) const {
    const Array& x = Operand(node, 0);
    const std::string& combiner = node.string("combiner");
    const OpKind reduction = combiner == "add"   ? OpKind::kReduceSum
                             : combiner == "mul" ? OpKind::kReduceProd
                             : combiner == "max" ? OpKind::kReduceMax
                                                 : OpKind::kReduceMin;
    const int64_t axis = node.i64("axis"), step = node.i64("reverse") != 0 ? -1 : 1;
    Array result = x;
    ForEachIndex(x.dims, [&](const Dims& index) {
      std::vector<Element> met;
      Dims at = index;
      for (at[axis] = step > 0 ? 0 : x.dims[axis] - 1; at[axis] != index[axis]; at[axis] += step) {
        met.push_back(At(x, at));
      }
      if (node.i64("exclusive") == 0) met.push_back(At(x, index));
      result.elements[OffsetOf(x.dims, index)] = Combine(reduction, x.dtype, met, 0);
    });
    return result;
  }

  Array Scatter(NodeId id) {
    const Node& node = graph_.node(id);
    Array result = Operand(node, 0);
    const size_t faults = result_.faults.size();
    const Array &indices = Operand(node, 1), &updates = Operand(node, 2);
    const size_t rank = indices.dims.size() - 1;
    ForEachIndex(updates.dims, [&](const Dims& update) {
      Dims target, position(update.begin(), update.begin() + static_cast<int64_t>(rank));
      position.push_back(0);
      for (; position.back() < indices.dims.back(); ++position.back()) {
        target.push_back(EntryOf(id, At(indices, position), result.dims[target.size()]));
        if (target.back() < 0) return;
      }
      target.insert(target.end(), update.begin() + static_cast<int64_t>(rank), update.end());
      Element& element = result.elements[OffsetOf(result.dims, target)];
      element = Combined(node.string("combiner"), result.dtype, element, At(updates, update));
    });
    if (result_.faults.size() > faults) result.elements.assign(result.elements.size(), Unknown());
    return result;
  }

  static Element Combined(const std::string& combiner, DType dtype, const Element& before, const Element& update) {
    if (combiner == "set") return update;
    const OpKind op = combiner == "add"   ? OpKind::kAdd
                      : combiner == "mul" ? OpKind::kMul
                      : combiner == "max" ? OpKind::kMax
                                          : OpKind::kMin;
    return Apply(op, dtype, {before, update});
  }

  // A zero may have either sign where it was computed, and a NaN any payload.
  static Element Bitcast(DType from, DType to, const Element& x) {
    if (IsFloat(from) && (x.error != 0 || x.value == 0 || std::isnan(x.value))) return Unknown();
    if (!x.known()) return Unknown();
    const Array bits{from, {}, {x}};
    Element result = FromBytes(to, {}, ToBytes(bits).data()).elements[0];
    if (to == DType::kBool) result.value = result.value != 0;
    return result;
  }

  Element DotAt(const Node& node, const Dims& index) const {
    const Array &lhs = Operand(node, 0), &rhs = Operand(node, 1);
    const bool lhs_swapped = node.i64("transpose_lhs") != 0, rhs_swapped = node.i64("transpose_rhs") != 0;
    const int64_t depth = lhs.dims[lhs.dims.size() - (lhs_swapped ? 2 : 1)];
    Dims at = index;
    const size_t row = index.size() - 2, column = index.size() - 1;
    const DType sum_type = node.results[0].dtype;
    Sum sum(sum_type);
    for (int64_t k = 0; k < depth; ++k) {
      at[lhs_swapped ? column : row] = index[row];
      at[lhs_swapped ? row : column] = k;
      const Element x = MatrixAt(lhs, at);
      at[rhs_swapped ? column : row] = k;
      at[rhs_swapped ? row : column] = index[column];
      const Element y = MatrixAt(rhs, at);
      sum.Add(IsFloat(sum_type) ? ProductOf(x, y) : Apply(OpKind::kMul, sum_type, {x, y}), true);
    }
    return sum.Result();
  }

  static Element ProductOf(const Element& x, const Element& y) {
    if (x.error == 0 && y.error == 0) return {x.value * y.value};
    const long double error = std::fabs(x.value) * y.error + std::fabs(y.value) * x.error + x.error * y.error;
    return std::isfinite(error) ? Element{x.value * y.value, error} : Unknown();
  }

  // As BroadcastAt, but the last two dims are no batch: they do not broadcast.
  static const Element& MatrixAt(const Array& array, const Dims& index) {
    Dims own(index.end() - static_cast<int64_t>(array.dims.size()), index.end());
    for (size_t d = 0; d + 2 < own.size(); ++d) {
      if (array.dims[d] == 1) own[d] = 0;
    }
    return At(array, own);
  }

  Array Reduce(const Node& node, const Dims& dims) const {
    const Array& x = Operand(node, 0);
    const std::vector<int64_t>& axes = node.i64s("axes");
    const DType dtype = node.results[0].dtype;
    std::vector<std::vector<Element>> collected(CountOf(dims));
    ForEachIndex(x.dims, [&](const Dims& index) {
      Dims kept;
      for (size_t d = 0; d < index.size(); ++d) {
        const bool reduced = std::count(axes.begin(), axes.end(), static_cast<int64_t>(d)) > 0;
        if (!reduced) kept.push_back(index[d]);
        if (reduced && node.i64("keep_dims") != 0) kept.push_back(0);
      }
      collected[OffsetOf(dims, kept)].push_back(At(x, index));
    });
    int64_t count = 1;
    for (int64_t axis : axes) count *= x.dims[axis];
    Array result{dtype, dims, {}};
    for (const auto& elements : collected) result.elements.push_back(Combine(node.op, dtype, elements, count));
    return result;
  }

  static Element Combine(OpKind op, DType dtype, const std::vector<Element>& elements, int64_t count) {
    if (op == OpKind::kReduceMax || op == OpKind::kReduceMin) {
      const bool max = op == OpKind::kReduceMax;
      Element best;
      best.value = IsFloat(dtype) ? (max ? -INFINITY : INFINITY) : (max ? LeastOf(dtype) : MostOf(dtype));
      for (const Element& x : elements) best = Apply(max ? OpKind::kMax : OpKind::kMin, dtype, {best, x});
      return best;
    }
    if (op == OpKind::kReduceProd) {
      Product product(dtype);
      for (const Element& x : elements) product.Multiply(x);
      return product.Result();
    }
    Sum sum(dtype);
    for (const Element& x : elements) sum.Add(x);
    return op == OpKind::kReduceMean ? sum.Result(static_cast<long double>(count)) : sum.Result();
  }

  const Graph& graph_;
  const std::vector<int64_t>& symbols_;
  const std::vector<Array>& inputs_;
  const std::vector<Dims>& dims_;
  std::vector<Array> arrays_;
  Evaluation result_;
};

}  // namespace

absl::StatusOr<Evaluation> Evaluate(const Graph& graph, const std::vector<int64_t>& symbols,
                                    const std::vector<Array>& inputs) {
  TAILOR_ASSIGN_OR_RETURN(const std::vector<Dims> dims, GraphDims(graph, symbols));
  return Evaluator(graph, symbols, inputs, dims).Run();
}

}  // namespace tailor::reference
