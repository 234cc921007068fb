#include "graph/shape_rules.h"

#include <optional>

#include "graph/dim_bounds.h"
#include "graph/status_macros.h"

namespace tailor {
namespace {

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

// The broadcast of operands `first` and on over their dims [0, rank - skip).
ShapeOr BroadcastOperands(const Application& op, int skip) {
  Shape result;
  for (size_t i = 0; i < op.operands.size(); ++i) {
    const Shape& shape = op.operand(i).shape;
    size_t rank = shape.size() - skip;
    if (rank > result.size()) result.insert(result.begin(), rank - result.size(), DimExpr(1));
    for (size_t d = 0; d < rank; ++d) {
      DimExpr& dim_size = result[result.size() - rank + d];
      if (Clash(dim_size, shape[d]) && dim_size.constant() != 1 && shape[d].constant() != 1) {
        return op.Error("operand ", op.Name(i), " has size ", op.Text(shape[d]), " in dim ", d, " of ", op.Text(shape),
                        ", which does not broadcast with ", op.Text(dim_size));
      }
      dim_size = DimExpr::Bcast(dim_size, shape[d]);
    }
  }
  return result;
}

ShapeOr BindShape(const Application& op) {
  if (op.operand(0).rank() != 0)
    return op.Error("operand ", op.Name(0), " has rank ", op.operand(0).rank(), ", needs 0");
  const Shape& dim_size = op.attribute<Shape>("extent");
  if (dim_size.size() == 1 && dim_size[0].symbol()) return Shape{};
  return op.Error("attribute \"dim size\" is ", op.Text(dim_size), ", needs one symbol");
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

ShapeOr AlongAxisShape(const Application& op) {
  TAILOR_RETURN_IF_ERROR(ResolveAxis(op, "axis", op.attribute<int64_t>("axis"), op.operand(0).rank()).status());
  return op.operand(0).shape;
}

ShapeOr BroadcastToShape(const Application& op) {
  const Shape &from = op.operand(0).shape, &to = op.attribute<Shape>("shape");
  if (from.size() > to.size()) {
    return op.Error("operand ", op.Name(0), " has rank ", from.size(), ", more than the shape ", op.Text(to));
  }
  for (size_t d = 0; d < from.size(); ++d) {
    const DimExpr& dim_size = to[to.size() - from.size() + d];
    if (Clash(from[d], dim_size) && from[d].constant() != 1) {
      return op.Error("operand ", op.Name(0), " has size ", op.Text(from[d]), " in dim ", d,
                      ", which does not broadcast to ", op.Text(dim_size));
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

// Checks the bounds of a slice along one dim, if start, size and dim size are constant.
absl::Status CheckSliceBounds(const Application& op, size_t d, const DimExpr& start, const DimExpr& size,
                              int64_t step) {
  const DimExpr& dim_size = op.operand(0).shape[d];
  if (!start.constant() || !size.constant() || !dim_size.constant() || *size.constant() <= 0) {
    return absl::OkStatus();
  }
  DimExpr last = start + (size - 1) * step;
  for (const DimExpr& index : {start, last}) {
    if (!index.valid() || *index.constant() < 0 || *index.constant() >= *dim_size.constant()) {
      return op.Error("dim ", d, " of operand ", op.Name(0), " has size ", op.Text(dim_size), ", but start ",
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
        return op.Error("operand ", op.Name(i), " has size ", op.Text(shape[d]), " in dim ", d, ", but ", op.Name(0),
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

// indices [I..., K], updates [I..., x's dims after the first K].
ShapeOr ScatterShape(const Application& op) {
  const Shape &shape = op.operand(0).shape, &indices = op.operand(1).shape, &updates = op.operand(2).shape;
  if (indices.empty()) return op.Error("operand ", op.Name(1), " has rank 0, needs at least 1");
  const std::optional<int64_t> depth = indices.back().constant();
  if (!depth || *depth < 0 || *depth > op.operand(0).rank()) {
    return op.Error("operand ", op.Name(1), " ends in size ", op.Text(indices.back()), ", needs a constant up to ",
                    shape.size(), ", the rank of ", op.Name(0));
  }
  Shape needed(indices.begin(), indices.end() - 1);
  needed.insert(needed.end(), shape.begin() + *depth, shape.end());
  if (updates.size() != needed.size()) {
    return op.Error("operand ", op.Name(2), " has rank ", updates.size(), ", needs ", needed.size());
  }
  for (size_t d = 0; d < needed.size(); ++d) {
    if (!Clash(updates[d], needed[d])) continue;
    return op.Error("operand ", op.Name(2), " has size ", op.Text(updates[d]), " in dim ", d, ", needs ",
                    op.Text(needed[d]));
  }
  return shape;
}

// The size of one padded dim: `dim_size` spread out by `interior`, between `low` and `high`. An empty dim has no
// inside.
DimExpr PaddedDimSize(const DimExpr& dim_size, const DimExpr& low, const DimExpr& high, int64_t interior) {
  DimExpr inner = dim_size + dim_size * interior - interior;
  return low + (interior == 0 ? dim_size : DimExpr::Max(inner, 0)) + high;
}

ShapeOr PadShape(const Application& op) {
  const Shape &shape = op.operand(0).shape, &low = op.attribute<Shape>("low"), &high = op.attribute<Shape>("high");
  const auto& interior = op.attribute<std::vector<int64_t>>("interior");
  if (op.operand(1).rank() != 0) {
    return op.Error("operand ", op.Name(1), " has rank ", op.operand(1).rank(), ", needs 0");
  }
  if (low.size() != shape.size() || high.size() != shape.size() ||
      (!interior.empty() && interior.size() != shape.size())) {
    return op.Error("operand ", op.Name(0), " has rank ", shape.size(), ", but there are ", low.size(), " low, ",
                    high.size(), " high and ", interior.size(), " interior entries");
  }
  Shape result;
  for (size_t d = 0; d < shape.size(); ++d) {
    const int64_t gap = interior.empty() ? 0 : interior[d];
    if (gap < 0) return op.Error("attribute \"interior\" is ", gap, " in dim ", d, ", needs at least 0");
    result.push_back(PaddedDimSize(shape[d], low[d], high[d], gap));
  }
  return result;
}

// floordiv(dim_size - (size - 1) * dilation - 1, stride) + 1, at least 0.
DimExpr WindowCount(const DimExpr& dim_size, const DimExpr& size, int64_t stride, int64_t dilation) {
  DimExpr last = dim_size - (size - 1) * dilation - 1;  // last possible start of a window
  DimExpr count = DimExpr::FloorDiv(last, stride) + 1;
  std::optional<int64_t> least = LowerBound(count);
  return least && *least >= 0 ? count : DimExpr::Max(count, 0);
}

// Entry `i` of a list of factors, which must be >= 1; an empty list means all 1.
absl::StatusOr<int64_t> Factor(const Application& op, absl::string_view attribute, size_t i) {
  const auto& factors = op.attribute<std::vector<int64_t>>(attribute);
  if (factors.empty() || factors[i] >= 1) return factors.empty() ? 1 : factors[i];
  return op.Error("attribute \"", attribute, "\" has ", factors[i], ", needs at least 1");
}

ShapeOr WindowShape(const Application& op) {
  const auto& axes = op.attribute<std::vector<int64_t>>("axes");
  const size_t strides = op.attribute<std::vector<int64_t>>("strides").size();
  const size_t dilations = op.attribute<std::vector<int64_t>>("dilations").size();
  const Shape& sizes = op.attribute<Shape>("sizes");
  auto fits = [&](size_t count) { return count == 0 || count == axes.size(); };
  if (sizes.size() != axes.size() || !fits(strides) || !fits(dilations)) {
    return op.Error("there are ", axes.size(), " axes, but ", sizes.size(), " sizes, ", strides, " strides and ",
                    dilations, " dilations");
  }
  Shape result = op.operand(0).shape;
  int64_t before = -1;
  for (size_t i = 0; i < axes.size(); ++i) {
    TAILOR_ASSIGN_OR_RETURN(int64_t d, ResolveAxis(op, "axes", axes[i], op.operand(0).rank()));
    if (d <= before) return op.Error("attribute \"axes\" is not in ascending order");
    before = d;
    TAILOR_ASSIGN_OR_RETURN(int64_t stride, Factor(op, "strides", i));
    TAILOR_ASSIGN_OR_RETURN(int64_t dilation, Factor(op, "dilations", i));
    if (sizes[i].constant() && *sizes[i].constant() < 0) {
      return op.Error("attribute \"sizes\" has ", op.Text(sizes[i]), ", needs at least 0");
    }
    result[d] = WindowCount(result[d], sizes[i], stride, dilation);
    result.push_back(sizes[i]);
  }
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
    return op.Error("operand ", op.Name(1), " contracts over size ", op.Text(rhs_k), ", but ", op.Name(0), " over ",
                    op.Text(lhs_k));
  }
  TAILOR_ASSIGN_OR_RETURN(Shape result, BroadcastOperands(op, 2));
  result.push_back(m);
  result.push_back(n);
  return result;
}

}  // namespace

absl::StatusOr<Shape> InferShape(const Application& op) {
  switch (op.info.shape) {
    case ShapeRule::kInput:
      return op.attribute<Shape>("shape");
    case ShapeRule::kSameAs0:
      return op.operand(0).shape;
    case ShapeRule::kAlongAxis:
      return AlongAxisShape(op);
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
    case ShapeRule::kScatter:
      return ScatterShape(op);
    case ShapeRule::kPad:
      return PadShape(op);
    case ShapeRule::kWindow:
      return WindowShape(op);
    case ShapeRule::kFromShape:
      return IotaShape(op);
    case ShapeRule::kContract:
      return ContractShape(op);
    case ShapeRule::kBind:
      return BindShape(op);
    case ShapeRule::kRegion:
    case ShapeRule::kStated:
      break;
  }
  assert(false && "regions and custom operators have rules of their own");
  return Shape{};
}

}  // namespace tailor
