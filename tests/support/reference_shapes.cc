#include "tests/support/reference_shapes.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/status_macros.h"
#include "tests/support/reference_array.h"
#include "tests/support/reference_symbols.h"

namespace tailor::reference {
namespace {

int64_t FloorDivide(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

absl::StatusOr<int64_t> EvaluateAtom(const DimExpr::Atom& atom, const std::vector<int64_t>& symbols) {
  using Kind = DimExpr::AtomKind;
  if (atom.kind == Kind::kSymbol) {
    if (symbols[atom.symbol] == kUnbound) return absl::NotFoundError("a symbol has no value yet");
    return symbols[atom.symbol];
  }
  TAILOR_ASSIGN_OR_RETURN(const int64_t a, EvaluateDim(atom.lhs, symbols));
  TAILOR_ASSIGN_OR_RETURN(const int64_t b, EvaluateDim(atom.rhs, symbols));
  const bool divides = atom.kind == Kind::kFloorDiv || atom.kind == Kind::kMod;
  if (divides && b < 1) return Refused("a divisor is ", b);
  switch (atom.kind) {
    case Kind::kFloorDiv:
      return FloorDivide(a, b);
    case Kind::kMod:
      return a - b * FloorDivide(a, b);
    case Kind::kMin:
      return std::min(a, b);
    case Kind::kMax:
      return std::max(a, b);
    default:
      return a == 1 ? b : a;
  }
}

absl::StatusOr<Dims> DimsOf(const Node& node, absl::string_view attribute, const std::vector<int64_t>& symbols) {
  TAILOR_ASSIGN_OR_RETURN(Dims dims, EvaluateDims(node.dims(attribute), symbols));
  for (int64_t dim : dims) {
    if (dim < 0) return Refused(attribute, " has the negative dim size ", dim);
  }
  return dims;
}

Dims ReduceDims(const Node& node, const Dims& x) {
  const std::vector<int64_t>& axes = node.i64s("axes");
  Dims result;
  for (size_t d = 0; d < x.size(); ++d) {
    const bool reduced = std::count(axes.begin(), axes.end(), static_cast<int64_t>(d)) > 0;
    if (!reduced) result.push_back(x[d]);
    if (reduced && node.i64("keep_dims") != 0) result.push_back(1);
  }
  return result;
}

absl::StatusOr<Dims> SliceDims(const Node& node, const Dims& x, const std::vector<int64_t>& symbols) {
  TAILOR_ASSIGN_OR_RETURN(const Dims starts, EvaluateDims(node.dims("starts"), symbols));
  TAILOR_ASSIGN_OR_RETURN(Dims sizes, DimsOf(node, "sizes", symbols));
  for (size_t d = 0; d < x.size(); ++d) {
    const int64_t step = node.i64s("steps")[d], last = starts[d] + (sizes[d] - 1) * step;
    if (sizes[d] == 0) {
      if (starts[d] < (step < 0 ? -1 : 0) || starts[d] > x[d]) {
        return absl::FailedPreconditionError("an empty slice starts outside");
      }
    } else if (std::min(starts[d], last) < 0 || std::max(starts[d], last) >= x[d]) {
      return Refused("slice reads ", starts[d], " to ", last, " of ", x[d]);
    }
  }
  return sizes;
}

absl::StatusOr<Dims> ScatterDims(const std::vector<Dims>& operands) {
  const Dims &x = operands[0], &indices = operands[1], &updates = operands[2];
  Dims needed(indices.begin(), indices.end() - 1);
  for (int64_t d = 0; d < indices.back(); ++d) {
    if (x[d] == 0 && CountOf(needed) > 0) return Refused("scatter into dim ", d, ", which has no entries");
  }
  needed.insert(needed.end(), x.begin() + indices.back(), x.end());
  if (updates == needed) return x;
  return Refused("scatter of [", absl::StrJoin(updates, ", "), "], not [", absl::StrJoin(needed, ", "), "]");
}

absl::StatusOr<Dims> ConcatDims(const Node& node, const std::vector<Dims>& operands) {
  Dims result = operands[0];
  const auto axis = static_cast<size_t>(node.i64("axis"));
  for (size_t i = 1; i < operands.size(); ++i) {
    for (size_t d = 0; d < result.size(); ++d) {
      if (d == axis) {
        result[d] += operands[i][d];
      } else if (operands[i][d] != result[d]) {
        return Refused("concat of dim sizes ", result[d], " and ", operands[i][d]);
      }
    }
  }
  return result;
}

absl::StatusOr<Dims> PadDims(const Node& node, const Dims& x, const std::vector<int64_t>& symbols) {
  TAILOR_ASSIGN_OR_RETURN(const Dims low, EvaluateDims(node.dims("low"), symbols));
  TAILOR_ASSIGN_OR_RETURN(const Dims high, EvaluateDims(node.dims("high"), symbols));
  Dims result;
  for (size_t d = 0; d < x.size(); ++d) {
    const int64_t inner = x[d] == 0 ? 0 : (x[d] - 1) * (node.i64s("interior")[d] + 1) + 1;
    result.push_back(low[d] + inner + high[d]);
    if (result[d] < 0) return Refused("pad makes the negative dim size ", result[d]);
  }
  return result;
}

absl::StatusOr<Dims> WindowDims(const Node& node, const Dims& x, const std::vector<int64_t>& symbols) {
  TAILOR_ASSIGN_OR_RETURN(const Dims sizes, DimsOf(node, "sizes", symbols));
  Dims result = x;
  for (size_t i = 0; i < sizes.size(); ++i) {
    int64_t& dim_size = result[node.i64s("axes")[i]];
    const int64_t last = dim_size - 1 - (sizes[i] - 1) * node.i64s("dilations")[i];  // where a window may start
    dim_size = last < 0 ? 0 : last / node.i64s("strides")[i] + 1;
    result.push_back(sizes[i]);
  }
  return result;
}

absl::StatusOr<Dims> DotDims(const Node& node, Dims lhs, Dims rhs) {
  if (node.i64("transpose_lhs") != 0) std::swap(lhs[lhs.size() - 1], lhs[lhs.size() - 2]);
  if (node.i64("transpose_rhs") != 0) std::swap(rhs[rhs.size() - 1], rhs[rhs.size() - 2]);
  if (lhs.back() != rhs[rhs.size() - 2]) return Refused("dot over ", lhs.back(), " and ", rhs[rhs.size() - 2]);
  TAILOR_ASSIGN_OR_RETURN(Dims result,
                          BroadcastDims(Dims(lhs.begin(), lhs.end() - 2), Dims(rhs.begin(), rhs.end() - 2)));
  result.push_back(lhs[lhs.size() - 2]);
  result.push_back(rhs.back());
  return result;
}

absl::StatusOr<Dims> BroadcastToDims(const Node& node, const Dims& x, const std::vector<int64_t>& symbols) {
  TAILOR_ASSIGN_OR_RETURN(Dims to, DimsOf(node, "shape", symbols));
  for (size_t d = 0; d < x.size(); ++d) {
    const int64_t target = to[to.size() - x.size() + d];
    if (x[d] != 1 && x[d] != target) return Refused("dim size ", x[d], " does not broadcast to ", target);
  }
  return to;
}

// NOT_FOUND where they are not known before a run.
absl::StatusOr<Dims> DimsOfNode(const Node& node, const std::vector<int64_t>& symbols,
                                const std::map<Value, Dims>& known) {
  std::vector<Dims> operands;
  for (Value operand : node.operands) {
    const auto it = known.find(operand);
    if (it == known.end()) return absl::NotFoundError("an operand's dims are not known");
    operands.push_back(it->second);
  }
  if (!node.regions.empty()) return absl::NotFoundError("a region makes the result");
  return ResultDims(node, operands, symbols);
}

// Dims that the results' types tell.
void AddDeclaredDims(const Node& node, NodeId id, const std::vector<int64_t>& symbols, std::map<Value, Dims>* all) {
  for (size_t r = 0; r < node.results.size(); ++r) {
    const auto dims = EvaluateDims(node.results[r].shape, symbols);
    if (!dims.ok() || std::any_of(dims->begin(), dims->end(), [](int64_t dim) { return dim < 0; })) continue;
    (*all)[{id, static_cast<int32_t>(r)}] = *dims;
  }
}

}  // namespace

absl::StatusOr<int64_t> EvaluateDim(const DimExpr& dim, const std::vector<int64_t>& symbols) {
  int64_t sum = 0;
  for (const DimExpr::Term& term : dim.terms()) {
    int64_t term_value = term.coefficient;
    for (const DimExpr::Factor& factor : term.factors) {
      TAILOR_ASSIGN_OR_RETURN(const int64_t value, EvaluateAtom(*factor.atom, symbols));
      for (int i = 0; i < factor.power; ++i) term_value *= value;
    }
    sum += term_value;
  }
  return sum;
}

absl::StatusOr<Dims> EvaluateDims(const Shape& shape, const std::vector<int64_t>& symbols) {
  Dims dims;
  for (const DimExpr& dim : shape) {
    TAILOR_ASSIGN_OR_RETURN(const int64_t value, EvaluateDim(dim, symbols));
    dims.push_back(value);
  }
  return dims;
}

absl::StatusOr<Dims> BroadcastDims(const Dims& a, const Dims& b) {
  if (a.size() < b.size()) return BroadcastDims(b, a);
  Dims result = a;
  for (size_t d = 0; d < b.size(); ++d) {
    int64_t& dim_size = result[a.size() - b.size() + d];
    if (dim_size != b[d] && dim_size != 1 && b[d] != 1) {
      return Refused("[", absl::StrJoin(a, ", "), "] does not broadcast with [", absl::StrJoin(b, ", "), "]");
    }
    if (dim_size == 1) dim_size = b[d];
  }
  return result;
}

absl::StatusOr<Dims> ResultDims(const Node& node, const std::vector<Dims>& operands,
                                const std::vector<int64_t>& symbols) {
  switch (node.op) {
    case OpKind::kInput:
    case OpKind::kConstant:
    case OpKind::kIota:
      return DimsOf(node, "shape", symbols);
    case OpKind::kReduceSum:
    case OpKind::kReduceMax:
    case OpKind::kReduceMin:
    case OpKind::kReduceMean:
    case OpKind::kReduceProd:
      return ReduceDims(node, operands[0]);
    case OpKind::kBroadcast:
      return BroadcastToDims(node, operands[0], symbols);
    case OpKind::kReshape: {
      TAILOR_ASSIGN_OR_RETURN(Dims to, DimsOf(node, "shape", symbols));
      if (CountOf(to) == CountOf(operands[0])) return to;
      return Refused("reshape of ", CountOf(operands[0]), " elements to ", CountOf(to));
    }
    case OpKind::kTranspose: {
      Dims result;
      for (int64_t axis : node.i64s("permutation")) result.push_back(operands[0][axis]);
      return result;
    }
    case OpKind::kSlice:
      return SliceDims(node, operands[0], symbols);
    case OpKind::kConcat:
      return ConcatDims(node, operands);
    case OpKind::kGather: {
      Dims result = operands[0];
      auto axis = result.begin() + node.i64("axis");
      axis = result.erase(axis);
      result.insert(axis, operands[1].begin(), operands[1].end());
      return result;
    }
    case OpKind::kScatter:
      return ScatterDims(operands);
    case OpKind::kPad:
      return PadDims(node, operands[0], symbols);
    case OpKind::kWindow:
      return WindowDims(node, operands[0], symbols);
    case OpKind::kDot:
      return DotDims(node, operands[0], operands[1]);
    default: {
      Dims result = operands[0];
      for (size_t i = 1; i < operands.size(); ++i) {
        TAILOR_ASSIGN_OR_RETURN(result, BroadcastDims(result, operands[i]));
      }
      return result;
    }
  }
}

absl::StatusOr<std::map<Value, Dims>> GraphDims(const Graph& graph, const std::vector<int64_t>& symbols) {
  TAILOR_RETURN_IF_ERROR(CheckSymbols(graph, symbols));
  std::map<Value, Dims> all;
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    const Node& node = graph.node(id);
    absl::StatusOr<Dims> dims = DimsOfNode(node, symbols, all);
    if (dims.ok()) all[{id, 0}] = *std::move(dims);
    if (absl::IsNotFound(dims.status())) {
      AddDeclaredDims(node, id, symbols, &all);
    } else if (!dims.ok()) {
      return absl::Status(dims.status().code(),
                          absl::StrCat(InfoOf(node.op).text, " %", id, ": ", dims.status().message()));
    }
  }
  return all;
}

}  // namespace tailor::reference
