#include "graph/ordering.h"

#include <cmath>

#include "graph/builders.h"
#include "graph/formula_ops.h"
#include "graph/status_macros.h"

namespace tailor {
namespace {

DType UnsignedOf(DType dtype) {
  constexpr DType kTypes[] = {DType::kU8, DType::kU16, DType::kU32, DType::kU64};
  int log_bytes = 0;
  while (1 << log_bytes < SizeOf(dtype)) ++log_bytes;
  return kTypes[log_bytes];
}

double HighestBit(DType dtype) { return std::ldexp(1.0, 8 * SizeOf(dtype) - 1); }

}  // namespace

Value AppendOrderedKeys(Formula& f, const Graph& graph, Value x, bool largest) {
  if (!f.ok()) return {};
  const DType dtype = graph.type(x).dtype;
  const DType wide = UnsignedOf(dtype);
  const auto bits = [&](Value v) { return f.Apply(OpKind::kBitcast, {v}, {{"dtype", wide}}); };
  const auto is_not = [&](Value v) { return f.Apply(OpKind::kNot, {v}); };
  Value key = dtype == DType::kBool ? Cast(f, x, wide) : bits(x);
  if (IsSigned(dtype)) key = f.Apply(OpKind::kXor, {key, f.Scalar(key, HighestBit(wide))});
  if (IsFloat(dtype)) {
    Value is_number = f.Apply(OpKind::kEq, {x, x}), is_zero = f.Apply(OpKind::kEq, {x, f.Scalar(x, 0)});
    Value zero = f.Scalar(key, 0), sign = f.Scalar(key, HighestBit(wide));
    key = Select(f, is_zero, zero, key);  // -0
    key = Select(f, f.Apply(OpKind::kLt, {key, sign}), f.Apply(OpKind::kXor, {key, sign}), is_not(key));
    key = Select(f, is_number, key, f.Scalar(key, INFINITY));  // NaN: all bits
  }
  return largest ? key : is_not(key);
}

absl::StatusOr<Value> AppendDimSize(Graph& graph, const DimExpr& dim, DType dtype) {
  TAILOR_ASSIGN_OR_RETURN(const Value dim_size, DimSizeValue(graph, dim));
  if (dtype == DType::kI64) return dim_size;
  Formula f(&graph);
  return f.Finish(Cast(f, dim_size, dtype));
}

absl::StatusOr<Value> AppendFirstPositions(Graph& graph, const DimExpr& n, const DimExpr& count, DType dtype) {
  Formula f(&graph);
  TAILOR_ASSIGN_OR_RETURN(const Value all, f.Finish(Positions(f, n, dtype)));
  TAILOR_ASSIGN_OR_RETURN(const Value first,
                          f.Finish(f.Apply(OpKind::kSlice, {all}, {{"starts", Shape{0}}, {"sizes", Shape{count}}})));
  graph.SetNodeName(first.node, "k of top_k");
  return first;
}

absl::StatusOr<Value> AppendPicked(Graph& graph, Value x, Value indices) {
  const Shape shape = graph.type(x).shape, out = graph.type(indices).shape;
  const size_t leading = shape.size() - 1;
  DimExpr rows = 1;
  for (size_t d = 0; d < leading; ++d) rows = rows * shape[d];
  Shape column(out.size() - leading + 1, 1), picked = {rows};
  column[0] = rows;
  picked.insert(picked.end(), out.begin() + leading, out.end());
  TAILOR_ASSIGN_OR_RETURN(Value count, DimSizeValue(graph, shape.back()));
  Formula f(&graph);
  Value first = f.Apply(OpKind::kMul, {Reshaped(f, Positions(f, rows), column), count});
  Value within = Cast(f, Reshaped(f, indices, picked), DType::kI64);
  Value flat = f.Apply(OpKind::kGather, {Reshaped(f, x, {rows * shape.back()}), f.Apply(OpKind::kAdd, {first, within})},
                       {{"axis", int64_t{0}}});
  return f.Finish(Reshaped(f, flat, out));
}

}  // namespace tailor
