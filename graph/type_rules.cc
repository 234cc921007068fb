#include "graph/type_rules.h"

#include <algorithm>
#include <cassert>
#include <functional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/status_macros.h"

namespace tailor {
namespace {

// One application of an op, and how messages name its parts.
struct Application {
  const OpInfo& info;
  absl::Span<const TensorType> operands;
  absl::Span<const std::string> names;
  const Attributes& attributes;
  absl::Span<const Region> regions;
  const std::function<std::string(SymbolId)>& symbol_name;

  const TensorType& operand(size_t i) const { return operands[i]; }
  template <typename T>
  const T& attribute(absl::string_view name) const {
    auto it = attributes.find(name);
    assert(it != attributes.end());
    return std::get<T>(it->second);
  }

  // `"rhs" (%3)`
  std::string Name(size_t i) const {
    size_t row = std::min(i, info.operands.size() - 1);
    std::string index = info.operands[row].variadic ? absl::StrCat("[", i - row, "]") : "";
    std::string value = i < names.size() ? absl::StrCat(" (", names[i], ")") : "";
    return absl::StrCat("\"", info.operands[row].name, index, "\"", value);
  }
  std::string Text(const DimExpr& dim) const { return dim.ToText(symbol_name); }
  std::string Text(const Shape& shape) const {
    return absl::StrCat(
        "[", absl::StrJoin(shape, ", ", [&](std::string* out, const DimExpr& d) { out->append(Text(d)); }), "]");
  }
  template <typename... Args>
  absl::Status Error(const Args&... args) const {
    return absl::InvalidArgumentError(absl::StrCat(info.text, ": ", args...));
  }
};

using ShapeOr = absl::StatusOr<Shape>;

bool Clash(const DimExpr& a, const DimExpr& b) {
  return a.constant() && b.constant() && *a.constant() != *b.constant();
}

absl::StatusOr<int64_t> ResolveAxis(const Application& op, absl::string_view attribute, int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank) {
    return op.Error("attribute \"", attribute, "\" has axis ", axis, ", but the rank is ", rank);
  }
  return axis < 0 ? axis + rank : axis;
}

// The broadcast of operands `first`.. over their dims [0, rank - skip).
ShapeOr BroadcastOperands(const Application& op, int skip) {
  Shape result;
  for (size_t i = 0; i < op.operands.size(); ++i) {
    const Shape& shape = op.operand(i).shape;
    size_t rank = shape.size() - skip;
    if (rank > result.size()) result.insert(result.begin(), rank - result.size(), DimExpr(1));
    for (size_t d = 0; d < rank; ++d) {
      DimExpr& extent = result[result.size() - rank + d];
      if (Clash(extent, shape[d]) && extent.constant() != 1 && shape[d].constant() != 1) {
        return op.Error("operand ", op.Name(i), " has extent ", op.Text(shape[d]), " in dim ", d, " of ",
                        op.Text(shape), ", which does not broadcast with ", op.Text(extent));
      }
      extent = DimExpr::Bcast(extent, shape[d]);
    }
  }
  return result;
}

ShapeOr ReduceShape(const Application& op) {
  const Shape& shape = op.operand(0).shape;
  std::vector<bool> reduced(shape.size(), false);
  for (int64_t axis : op.attribute<std::vector<int64_t>>("axes")) {
    TAILOR_ASSIGN_OR_RETURN(int64_t d, ResolveAxis(op, "axes", axis, op.operand(0).rank()));
    if (reduced[d]) return op.Error("attribute \"axes\" names axis ", d, " twice");
    reduced[d] = true;
  }
  bool keep = op.attribute<int64_t>("keep_dims") != 0;
  Shape result;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (!reduced[d]) result.push_back(shape[d]);
    if (reduced[d] && keep) result.push_back(1);
  }
  return result;
}

ShapeOr BroadcastToShape(const Application& op) {
  const Shape &from = op.operand(0).shape, &to = op.attribute<Shape>("shape");
  if (from.size() > to.size()) {
    return op.Error("operand ", op.Name(0), " has rank ", from.size(), ", more than the shape ", op.Text(to));
  }
  for (size_t d = 0; d < from.size(); ++d) {
    const DimExpr& extent = to[to.size() - from.size() + d];
    if (Clash(from[d], extent) && from[d].constant() != 1) {
      return op.Error("operand ", op.Name(0), " has extent ", op.Text(from[d]), " in dim ", d,
                      ", which does not broadcast to ", op.Text(extent));
    }
  }
  return to;
}

ShapeOr ReshapeShape(const Application& op) {
  const Shape &from = op.operand(0).shape, &to = op.attribute<Shape>("shape");
  if (Clash(ElementCount(from), ElementCount(to))) {
    return op.Error("operand ", op.Name(0), " has ", op.Text(ElementCount(from)), " elements, but shape ", op.Text(to),
                    " has ", op.Text(ElementCount(to)));
  }
  return to;
}

ShapeOr TransposeShape(const Application& op) {
  const Shape& shape = op.operand(0).shape;
  const auto& permutation = op.attribute<std::vector<int64_t>>("permutation");
  std::vector<bool> seen(shape.size(), false);
  bool valid = permutation.size() == shape.size();
  for (size_t i = 0; valid && i < permutation.size(); ++i) {
    valid = permutation[i] >= 0 && permutation[i] < static_cast<int64_t>(shape.size()) && !seen[permutation[i]];
    if (valid) seen[permutation[i]] = true;
  }
  if (!valid) {
    return op.Error("attribute \"permutation\" = [", absl::StrJoin(permutation, ", "), "] is no permutation of the ",
                    shape.size(), " dims of operand ", op.Name(0));
  }
  Shape result;
  for (int64_t axis : permutation) result.push_back(shape[axis]);
  return result;
}

// Checks that every element read along one dim exists, where all of it is constant.
absl::Status CheckSliceBounds(const Application& op, size_t d, const DimExpr& start, const DimExpr& size,
                              int64_t step) {
  const DimExpr& extent = op.operand(0).shape[d];
  if (!start.constant() || !size.constant() || !extent.constant() || *size.constant() <= 0) {
    return absl::OkStatus();
  }
  DimExpr last = start + (size - 1) * step;
  for (const DimExpr& index : {start, last}) {
    if (!index.valid() || *index.constant() < 0 || *index.constant() >= *extent.constant()) {
      return op.Error("dim ", d, " of operand ", op.Name(0), " has extent ", op.Text(extent), ", but start ",
                      op.Text(start), ", size ", op.Text(size), ", step ", step, " reads index ", op.Text(index));
    }
  }
  return absl::OkStatus();
}

ShapeOr SliceShape(const Application& op) {
  size_t rank = op.operand(0).shape.size();
  const Shape &starts = op.attribute<Shape>("starts"), &sizes = op.attribute<Shape>("sizes");
  const auto& steps = op.attribute<std::vector<int64_t>>("steps");
  if (starts.size() != rank || sizes.size() != rank || (!steps.empty() && steps.size() != rank)) {
    return op.Error("operand ", op.Name(0), " has rank ", rank, ", but there are ", starts.size(), " starts, ",
                    sizes.size(), " sizes and ", steps.size(), " steps");
  }
  for (size_t d = 0; d < rank; ++d) {
    int64_t step = steps.empty() ? 1 : steps[d];
    if (step == 0) return op.Error("attribute \"steps\" is 0 in dim ", d);
    TAILOR_RETURN_IF_ERROR(CheckSliceBounds(op, d, starts[d], sizes[d], step));
  }
  return sizes;
}

ShapeOr ConcatShape(const Application& op) {
  Shape result = op.operand(0).shape;
  TAILOR_ASSIGN_OR_RETURN(int64_t axis, ResolveAxis(op, "axis", op.attribute<int64_t>("axis"), op.operand(0).rank()));
  for (size_t i = 1; i < op.operands.size(); ++i) {
    const Shape& shape = op.operand(i).shape;
    if (shape.size() != result.size()) {
      return op.Error("operand ", op.Name(i), " has rank ", shape.size(), ", but ", op.Name(0), " has rank ",
                      result.size());
    }
    for (size_t d = 0; d < shape.size(); ++d) {
      if (static_cast<int64_t>(d) == axis) {
        result[d] = result[d] + shape[d];
      } else if (Clash(result[d], shape[d])) {
        return op.Error("operand ", op.Name(i), " has extent ", op.Text(shape[d]), " in dim ", d, ", but ", op.Name(0),
                        " has ", op.Text(result[d]));
      }
    }
  }
  return result;
}

ShapeOr GatherShape(const Application& op) {
  const Shape &shape = op.operand(0).shape, &indices = op.operand(1).shape;
  if (shape.empty()) return op.Error("operand ", op.Name(0), " has rank 0, needs at least 1");
  TAILOR_ASSIGN_OR_RETURN(int64_t axis, ResolveAxis(op, "axis", op.attribute<int64_t>("axis"), op.operand(0).rank()));
  Shape result(shape.begin(), shape.begin() + axis);
  result.insert(result.end(), indices.begin(), indices.end());
  result.insert(result.end(), shape.begin() + axis + 1, shape.end());
  return result;
}

ShapeOr IotaShape(const Application& op) {
  const Shape& shape = op.attribute<Shape>("shape");
  TAILOR_RETURN_IF_ERROR(
      ResolveAxis(op, "axis", op.attribute<int64_t>("axis"), static_cast<int64_t>(shape.size())).status());
  return shape;
}

ShapeOr ContractShape(const Application& op) {
  for (size_t i = 0; i < 2; ++i) {
    if (op.operand(i).rank() < 2) {
      return op.Error("operand ", op.Name(i), " has rank ", op.operand(i).rank(), ", needs at least 2");
    }
  }
  const Shape &lhs = op.operand(0).shape, &rhs = op.operand(1).shape;
  bool transpose_lhs = op.attribute<int64_t>("transpose_lhs") != 0;
  bool transpose_rhs = op.attribute<int64_t>("transpose_rhs") != 0;
  const DimExpr& m = lhs[lhs.size() - (transpose_lhs ? 1 : 2)];
  const DimExpr& lhs_k = lhs[lhs.size() - (transpose_lhs ? 2 : 1)];
  const DimExpr& rhs_k = rhs[rhs.size() - (transpose_rhs ? 1 : 2)];
  const DimExpr& n = rhs[rhs.size() - (transpose_rhs ? 2 : 1)];
  if (Clash(lhs_k, rhs_k)) {
    return op.Error("operand ", op.Name(1), " contracts over extent ", op.Text(rhs_k), ", but ", op.Name(0), " over ",
                    op.Text(lhs_k));
  }
  TAILOR_ASSIGN_OR_RETURN(Shape result, BroadcastOperands(op, 2));
  result.push_back(m);
  result.push_back(n);
  return result;
}

ShapeOr InferShape(const Application& op) {
  switch (op.info.shape) {
    case ShapeRule::kInput:
      return op.attribute<Shape>("shape");
    case ShapeRule::kSameAs0:
      return op.operand(0).shape;
    case ShapeRule::kBroadcast:
      return BroadcastOperands(op, 0);
    case ShapeRule::kReduce:
      return ReduceShape(op);
    case ShapeRule::kBroadcastTo:
      return BroadcastToShape(op);
    case ShapeRule::kReshape:
      return ReshapeShape(op);
    case ShapeRule::kTranspose:
      return TransposeShape(op);
    case ShapeRule::kSlice:
      return SliceShape(op);
    case ShapeRule::kConcat:
      return ConcatShape(op);
    case ShapeRule::kGather:
      return GatherShape(op);
    case ShapeRule::kFromShape:
      return IotaShape(op);
    case ShapeRule::kContract:
      return ContractShape(op);
    case ShapeRule::kRegion:
      break;
  }
  assert(false && "regions have their own rule");
  return Shape{};
}

absl::Status CheckAlike(const Application& op, size_t first) {
  for (size_t i = first + 1; i < op.operands.size(); ++i) {
    if (op.operand(i).dtype != op.operand(first).dtype) {
      return op.Error("operand ", op.Name(i), " has type ", NameOf(op.operand(i).dtype), ", but ", op.Name(first),
                      " has ", NameOf(op.operand(first).dtype));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckType(const Application& op, size_t i, bool accepted, absl::string_view needed) {
  if (accepted) return absl::OkStatus();
  return op.Error("operand ", op.Name(i), " has type ", NameOf(op.operand(i).dtype), ", needs ", needed);
}

absl::StatusOr<DType> InferDType(const Application& op) {
  switch (op.info.dtype) {
    case DTypeRule::kAttribute: {
      DType dtype = op.attribute<DType>("dtype");
      if (!IsValid(dtype)) return op.Error("attribute \"dtype\" is no element type");
      if (op.info.kind == OpKind::kIota && dtype == DType::kBool) {
        return op.Error("attribute \"dtype\" is bool, needs a number");
      }
      return dtype;
    }
    case DTypeRule::kSelect:
      TAILOR_RETURN_IF_ERROR(CheckType(op, 0, op.operand(0).dtype == DType::kBool, "bool"));
      TAILOR_RETURN_IF_ERROR(CheckAlike(op, 1));
      return op.operand(1).dtype;
    case DTypeRule::kGather: {
      DType index = op.operand(1).dtype;
      TAILOR_RETURN_IF_ERROR(CheckType(op, 1, index == DType::kI32 || index == DType::kI64, "i32 or i64"));
      return op.operand(0).dtype;
    }
    default:
      break;
  }
  DType dtype = op.operand(0).dtype;
  if (op.info.dtype == DTypeRule::kNumeric) {
    TAILOR_RETURN_IF_ERROR(CheckType(op, 0, dtype != DType::kBool, "a number"));
  } else if (op.info.dtype == DTypeRule::kFloat || op.info.dtype == DTypeRule::kDot) {
    TAILOR_RETURN_IF_ERROR(CheckType(op, 0, IsFloat(dtype), "f16, bf16, f32 or f64"));
  } else if (op.info.dtype == DTypeRule::kLogic) {
    TAILOR_RETURN_IF_ERROR(CheckType(op, 0, !IsFloat(dtype), "bool or an integer"));
  }
  TAILOR_RETURN_IF_ERROR(CheckAlike(op, 0));
  return op.info.dtype == DTypeRule::kCompare ? DType::kBool : dtype;
}

std::vector<TensorType> InputTypes(const Graph& graph) {
  std::vector<TensorType> types;
  for (NodeId id : graph.inputs()) types.push_back(graph.type({id, 0}));
  return types;
}

std::vector<TensorType> OutputTypes(const Graph& graph) {
  std::vector<TensorType> types;
  for (const Output& output : graph.outputs()) types.push_back(graph.type(output.value));
  return types;
}

// while: regions condition (carried -> bool[]) and body (carried -> carried).
absl::StatusOr<std::vector<TensorType>> WhileTypes(const Application& op) {
  if (op.regions.size() != 2) return op.Error("has ", op.regions.size(), " regions, needs 2");
  std::vector<TensorType> carried(op.operands.begin(), op.operands.end());
  const char* names[] = {"condition", "body"};
  for (size_t r = 0; r < 2; ++r) {
    std::vector<TensorType> arguments = InputTypes(*op.regions[r].graph);
    if (arguments.size() != carried.size()) {
      return op.Error("the ", names[r], " takes ", arguments.size(), " arguments, but ", carried.size(),
                      " values are carried");
    }
    for (size_t i = 0; i < carried.size(); ++i) {
      if (arguments[i] != carried[i]) {
        return op.Error("argument ", i, " of the ", names[r], " differs in type from operand ", op.Name(i));
      }
    }
  }
  if (OutputTypes(*op.regions[0].graph) != std::vector<TensorType>{{DType::kBool, {}}}) {
    return op.Error("the condition must return one bool[]");
  }
  if (OutputTypes(*op.regions[1].graph) != carried) {
    return op.Error("the body must return the types of the carried values");
  }
  return carried;
}

absl::Status CheckFlags(const Application& op) {
  for (const char* flag : {"keep_dims", "transpose_lhs", "transpose_rhs"}) {
    auto it = op.attributes.find(absl::string_view(flag));
    if (it == op.attributes.end()) continue;
    int64_t value = std::get<int64_t>(it->second);
    if (value != 0 && value != 1) return op.Error("attribute \"", flag, "\" is ", value, ", needs 0 or 1");
  }
  return absl::OkStatus();
}

absl::Status CheckResult(const Application& op, const Shape& shape) {
  if (shape.size() > kMaxRank) {
    return op.Error("the result has rank ", shape.size(), ", more than ", kMaxRank);
  }
  for (size_t d = 0; d < shape.size(); ++d) {
    if (!shape[d].valid()) return op.Error("extent ", d, " of the result is no valid dim expression");
    if (shape[d].constant() && *shape[d].constant() < 0) {
      return op.Error("extent ", d, " of the result is ", op.Text(shape[d]), ", needs at least 0");
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<TensorType>> InferTypes(OpKind kind, absl::Span<const TensorType> operands,
                                                   absl::Span<const std::string> names, const Attributes& attributes,
                                                   absl::Span<const Region> regions,
                                                   const std::function<std::string(SymbolId)>& symbol_name) {
  Application op{InfoOf(kind), operands, names, attributes, regions, symbol_name};
  if (op.info.shape == ShapeRule::kRegion) return WhileTypes(op);
  if (!regions.empty()) return op.Error("has ", regions.size(), " regions, needs none");
  TAILOR_RETURN_IF_ERROR(CheckFlags(op));
  TensorType result;
  TAILOR_ASSIGN_OR_RETURN(result.dtype, InferDType(op));
  TAILOR_ASSIGN_OR_RETURN(result.shape, InferShape(op));
  TAILOR_RETURN_IF_ERROR(CheckResult(op, result.shape));
  return std::vector<TensorType>{std::move(result)};
}

}  // namespace tailor
