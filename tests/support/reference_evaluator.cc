#include "tests/support/reference_evaluator.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/status_macros.h"
#include "tests/support/reference_accumulate.h"
#include "tests/support/reference_scalar.h"
#include "tests/support/reference_shapes.h"
#include "tests/support/reference_symbols.h"

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

constexpr int kMostIterations = 10000;
constexpr double kMostWork = 4e6;  // elements and multiplications, those of regions included

class Evaluator {
 public:
  // `work` is what may still be done.
  Evaluator(const Graph& graph, const std::vector<int64_t>& symbols, const std::vector<Array>& inputs, double* work)
      : graph_(graph), symbols_(symbols), inputs_(inputs), arrays_(graph.nodes().size()), work_(work) {}

  absl::StatusOr<Evaluation> Run() {
    TAILOR_RETURN_IF_ERROR(GraphDims(graph_, symbols_).status());
    TAILOR_RETURN_IF_ERROR(EvaluateAll(Needed(false)));
    if (!result_.undecided.empty()) return std::move(result_);
    for (const Output& output : graph_.outputs()) {
      result_.outputs.push_back(arrays_[output.value.node][output.value.result]);
    }
    const absl::Status idle = EvaluateAll(Needed(true));
    if (absl::IsInvalidArgument(idle)) return absl::FailedPreconditionError(idle.message());
    TAILOR_RETURN_IF_ERROR(idle);
    if (!result_.undecided.empty()) return absl::FailedPreconditionError(result_.undecided);
    return std::move(result_);
  }

 private:
  std::string Where(NodeId id) const { return absl::StrCat(InfoOf(graph_.node(id).op).text, " %", id); }
  const Array& Operand(const Node& node, size_t i) const {
    return arrays_[node.operands[i].node][node.operands[i].result];
  }

  // Those of `nodes` that have not been evaluated, until the course of the run is undecided.
  absl::Status EvaluateAll(const std::vector<bool>& nodes) {
    for (NodeId id = 0; id < static_cast<NodeId>(nodes.size()) && result_.undecided.empty(); ++id) {
      if (!nodes[id] || !arrays_[id].empty()) continue;
      const absl::Status status = EvaluateNode(id);
      if (!status.ok()) return absl::Status(status.code(), absl::StrCat(Where(id), ": ", status.message()));
    }
    return absl::OkStatus();
  }

  // What outputs need, and where their symbols come from; with `all_control` what any control flow does.
  std::vector<bool> Needed(bool all_control) const {
    const std::vector<std::optional<NodeId>> sources = SymbolSources(graph_);
    std::vector<bool> needed(arrays_.size(), false);
    for (const Output& output : graph_.outputs()) needed[output.value.node] = true;
    for (size_t id = needed.size(); id-- > 0;) {
      const Node& node = graph_.node(static_cast<NodeId>(id));
      if (all_control && InfoOf(node.op).fusion == FusionClass::kControl) needed[id] = true;
      if (!needed[id]) continue;
      for (Value operand : node.operands) needed[operand.node] = true;
      for (SymbolId symbol : SymbolsOf(node)) {
        if (sources[symbol]) needed[*sources[symbol]] = true;
      }
    }
    return needed;
  }

  absl::Status EvaluateNode(NodeId id) {
    const Node& node = graph_.node(id);
    if (node.op == OpKind::kWhile) return Loop(id);
    if (node.op == OpKind::kIf) return Branch(id);
    std::vector<Dims> operands;
    for (size_t i = 0; i < node.operands.size(); ++i) operands.push_back(Operand(node, i).dims);
    TAILOR_ASSIGN_OR_RETURN(const Dims dims, ResultDims(node, operands, symbols_));
    TAILOR_RETURN_IF_ERROR(Spend(node, dims));
    if (node.op == OpKind::kBind) return Bind(id);
    arrays_[id].push_back(ArrayOf(id, dims));
    return absl::OkStatus();
  }

  // Fails where the node may not be evaluated any more.
  absl::Status Spend(const Node& node, const Dims& dims) {
    double own = 1;
    for (int64_t dim : dims) own *= static_cast<double>(dim);
    if (node.op == OpKind::kDot) {
      const Dims& lhs = Operand(node, 0).dims;
      own *= static_cast<double>(lhs[lhs.size() - (node.i64("transpose_lhs") != 0 ? 2 : 1)]);
    }
    if (node.op == OpKind::kScan) own *= static_cast<double>(dims[node.i64("axis")]);  // each prefix is combined afresh
    *work_ -= own;
    return *work_ < 0 ? absl::ResourceExhaustedError("too much work") : absl::OkStatus();
  }

  // Symbols have got values: what was not to be checked before can be now.
  absl::Status CheckBound() const { return GraphDims(graph_, symbols_).status(); }

  absl::Status Bind(NodeId id) {
    const Node& node = graph_.node(id);
    const Array& count = Operand(node, 0);
    if (!Decides(id, count)) return absl::OkStatus();
    const Dims value = {static_cast<int64_t>(count.elements[0].value)};
    TAILOR_RETURN_IF_ERROR(BindShape(graph_, node.dims("extent"), value, &symbols_));
    arrays_[id] = {count};
    return CheckBound();
  }

  absl::Status Branch(NodeId id) {
    const Node& node = graph_.node(id);
    if (!Decides(id, Operand(node, 0))) return absl::OkStatus();
    std::vector<Array> captured;
    for (size_t i = 1; i < node.operands.size(); ++i) captured.push_back(Operand(node, i));
    const bool then = Operand(node, 0).elements[0].value != 0;
    TAILOR_ASSIGN_OR_RETURN(std::vector<Array> results, Enter(node.regions[then ? 0 : 1], captured));
    return Keep(id, std::move(results));
  }

  absl::Status Loop(NodeId id) {
    const Node& node = graph_.node(id);
    std::vector<Array> carried;
    for (size_t i = 0; i < node.operands.size(); ++i) carried.push_back(Operand(node, i));
    for (int iteration = 0; iteration < kMostIterations; ++iteration) {
      TAILOR_ASSIGN_OR_RETURN(const std::vector<Array> go, Enter(node.regions[0], carried));
      if (!result_.undecided.empty() || !Decides(id, go[0])) return absl::OkStatus();
      if (go[0].elements[0].value == 0) return Keep(id, std::move(carried));
      TAILOR_ASSIGN_OR_RETURN(carried, Enter(node.regions[1], carried));
      if (!result_.undecided.empty()) return absl::OkStatus();
    }
    return absl::InternalError(absl::StrCat("no end after ", kMostIterations, " iterations"));
  }

  // Whether the scalar is known, on which the node's course depends.
  bool Decides(NodeId id, const Array& scalar) {
    if (!scalar.elements[0].known()) result_.undecided = absl::StrCat(Where(id), " depends on an unknown element");
    return scalar.elements[0].known();
  }

  // The region's outputs; none where they are undecided.
  absl::StatusOr<std::vector<Array>> Enter(const Region& region, const std::vector<Array>& arguments) {
    std::vector<Dims> dims;
    for (const Array& argument : arguments) dims.push_back(argument.dims);
    TAILOR_ASSIGN_OR_RETURN(const std::vector<int64_t> symbols, BindInputs(*region.graph, dims));
    TAILOR_ASSIGN_OR_RETURN(Evaluation inner, Evaluator(*region.graph, symbols, arguments, work_).Run());
    result_.faults.insert(result_.faults.end(), inner.faults.begin(), inner.faults.end());
    result_.undecided = inner.undecided;
    result_.entered.insert(result_.entered.end(), inner.entered.begin(), inner.entered.end());
    result_.entered.push_back(region.graph.get());
    return std::move(inner.outputs);
  }

  // What a node with regions gave, whose dim sizes may be new symbols.
  absl::Status Keep(NodeId id, std::vector<Array> results) {
    const Node& node = graph_.node(id);
    if (!result_.undecided.empty()) return absl::OkStatus();
    for (size_t r = 0; r < results.size(); ++r) {
      TAILOR_RETURN_IF_ERROR(BindShape(graph_, node.results[r].shape, results[r].dims, &symbols_));
    }
    arrays_[id] = std::move(results);
    return CheckBound();
  }

  Array ArrayOf(NodeId id, const Dims& dims) {
    const Node& node = graph_.node(id);
    const DType dtype = node.results[0].dtype;
    if (node.op == OpKind::kInput) {
      const auto inputs = graph_.inputs();
      const Array& input = inputs_[std::find(inputs.begin(), inputs.end(), id) - inputs.begin()];
      assert(input.dims == dims && input.dtype == dtype);
      return input;
    }
    if (node.op == OpKind::kConstant) return FromBytes(dtype, dims, graph_.constant_data(id).data);
    if (InfoOf(node.op).fusion == FusionClass::kReduction) return Reduce(node, dims);
    if (node.op == OpKind::kReshape) return {dtype, dims, Operand(node, 0).elements};
    if (node.op == OpKind::kScatter) return Scatter(id);
    if (node.op == OpKind::kScan) return Scan(node);
    Array result{dtype, dims, {}};
    ForEachIndex(dims, [&](const Dims& index) { result.elements.push_back(ElementOf(id, index)); });
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
        for (size_t i = 0; i < node.operands.size(); ++i) args.push_back(BroadcastAt(Operand(node, i), index));
        return Apply(node.op, graph_.type(node.operands.back()).dtype, args);
      }
    }
  }

  Element ConcatAt(const Node& node, Dims index) const {
    int64_t& position = index[node.i64("axis")];
    for (size_t i = 0;; ++i) {
      const int64_t dim_size = Operand(node, i).dims[node.i64("axis")];
      if (position < dim_size) return At(Operand(node, i), index);
      position -= dim_size;
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

  // The entry of a dim of `dim size` that `position` names, -1 where the run fails.
  int64_t EntryOf(NodeId id, const Element& position, int64_t dim_size) {
    const auto at = static_cast<int64_t>(position.value);
    if (position.known() && at >= -dim_size && at < dim_size) return at < 0 ? at + dim_size : at;
    result_.faults.push_back(absl::StrCat(
        Where(id), ": ", position.known() ? absl::StrCat("index ", at) : "an unknown index", " of ", dim_size));
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
    if (IsShare(node.operands[0])) sum.MayDivideLast(depth);
    for (int64_t k = 0; k < depth; ++k) {
      at[lhs_swapped ? column : row] = index[row];
      at[lhs_swapped ? row : column] = k;
      const Element x = MatrixAt(lhs, at);
      at[rhs_swapped ? column : row] = k;
      at[rhs_swapped ? row : column] = index[column];
      const Element y = MatrixAt(rhs, at);
      sum.Add(IsFloat(sum_type) ? ProductOf(sum_type, x, y) : Apply(OpKind::kMul, sum_type, {x, y}), true);
    }
    return sum.Result();
  }

  // Whether the value's rows are divided by sums, as those of a softmax.
  bool IsShare(Value value) const {
    const Node& node = graph_.node(value.node);
    switch (node.op) {
      case OpKind::kReshape:
      case OpKind::kTranspose:
      case OpKind::kBroadcast:
      case OpKind::kCast:
        return IsShare(node.operands[0]);
      case OpKind::kDiv:
        return graph_.node(node.operands[1].node).op == OpKind::kReduceSum;
      default:
        return false;
    }
  }

  static Element ProductOf(DType dtype, const Element& x, const Element& y) {
    const bool flushed = dtype == DType::kBF16 && (MayBeSubnormal(dtype, x) || MayBeSubnormal(dtype, y));
    if (x.error == 0 && y.error == 0 && !flushed) return {x.value * y.value};
    long double error = std::fabs(x.value) * y.error + std::fabs(y.value) * x.error + x.error * y.error;
    if (flushed) error += std::fabs(x.value * y.value);  // zero is as right
    return std::isfinite(error) ? Element{x.value * y.value, error} : Unknown();
  }

  static bool MayBeSubnormal(DType dtype, const Element& x) {
    return x.value != 0 && std::fabs(x.value) - x.error < FormatOf(dtype).LeastNormal();
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
  std::vector<int64_t> symbols_;
  const std::vector<Array>& inputs_;
  std::vector<std::vector<Array>> arrays_;  // by node and result
  double* work_;
  Evaluation result_;
};

}  // namespace

absl::StatusOr<Evaluation> Evaluate(const Graph& graph, const std::vector<int64_t>& symbols,
                                    const std::vector<Array>& inputs) {
  double work = kMostWork;
  return Evaluator(graph, symbols, inputs, &work).Run();
}

}  // namespace tailor::reference
