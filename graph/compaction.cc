#include "graph/compaction.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/builders.h"
#include "graph/formula_ops.h"
#include "graph/sorting.h"
#include "graph/status_macros.h"

namespace tailor {
namespace {

Value Filled(Formula& f, Value like, double value, const Shape& shape) {
  return f.Apply(OpKind::kBroadcast, {f.Scalar(like, value)}, {{"shape", shape}});
}

Value AsNumbers(Formula& f, Value mask) { return f.Apply(OpKind::kCast, {mask}, {{"dtype", DType::kI64}}); }

// Prefix sums of x; exclusive unless `inclusive`.
Value Sums(Formula& f, Value x, bool inclusive) {
  return f.Apply(OpKind::kScan, {x},
                 {{"axis", int64_t{0}}, {"combiner", "add"}, {"exclusive", int64_t{inclusive ? 0 : 1}}});
}

// `x` with the rows of `updates` combined into rows `places`, i64[N].
Value Put(Formula& f, Value x, Value places, const DimExpr& count, Value updates, const char* combiner) {
  return f.Apply(OpKind::kScatter, {x, Reshaped(f, places, {count, 1}), updates}, {{"combiner", combiner}});
}

// The rows that a mask keeps, and their positions in the result.
struct Selection {
  DimExpr from, to;  // N and M
  Value places;      // i64[N]; N for a row that is dropped
};

// mask: bool[N].
absl::StatusOr<Selection> SelectRows(Graph& graph, const char* builder, Value mask) {
  const DimExpr from = graph.type(mask).shape[0];
  TAILOR_ASSIGN_OR_RETURN(Value spare, DimSizeValue(graph, from));
  Formula f(&graph);
  Value kept = AsNumbers(f, mask);
  Value places = f.Apply(OpKind::kSelect, {mask, Sums(f, kept, false), spare});
  Value count = f.Apply(OpKind::kReduceSum, {kept}, {{"axes", std::vector<int64_t>{0}}});
  TAILOR_RETURN_IF_ERROR(f.Finish(count).status());
  TAILOR_ASSIGN_OR_RETURN(DimExpr to, FreshDimSize(graph, builder, from));
  f.Apply(OpKind::kBind, {count}, {{"extent", Shape{to}}});
  TAILOR_RETURN_IF_ERROR(f.Finish(places).status());
  return Selection{from, to, places};
}

// The kept rows of x [N, ...]: [M, ...].
Value Kept(Formula& f, const Graph& graph, const Selection& selection, Value x) {
  if (!f.ok()) return x;
  Shape shape = graph.type(x).shape;
  const Shape starts(shape.size(), 0);
  shape[0] = selection.from + 1;
  Value rows = Put(f, Filled(f, x, 0, shape), selection.places, selection.from, x, "set");
  shape[0] = selection.to;
  return f.Apply(OpKind::kSlice, {rows}, {{"starts", starts}, {"sizes", shape}});
}

absl::Status CheckMask(const Graph& graph, Value x, Value mask) {
  TAILOR_RETURN_IF_ERROR(CheckValue(graph, "compact", "x", x));
  TAILOR_RETURN_IF_ERROR(CheckValue(graph, "compact", "mask", mask));
  if (graph.type(x).rank() < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("compact: operand \"x\" (", graph.NameOf(x), ") has rank 0, needs at least 1"));
  }
  const DimExpr& rows = graph.type(x).shape[0];
  const TensorType& type = graph.type(mask);
  const DimExpr difference = type.rank() == 1 ? type.shape[0] - rows : DimExpr(1);
  if (type.dtype == DType::kBool && (!difference.constant() || *difference.constant() == 0)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("compact: operand \"mask\" (", graph.NameOf(mask), ") has type ",
                                                 graph.TypeText(type), ", needs ",
                                                 graph.TypeText({DType::kBool, {rows}})));
}

// The operand of Unique: x (or the vector of its elements), the axis, and the slices to compare as a vector or as rows.
struct Slices {
  Value x;
  int64_t axis;
  Value rows;  // [N] or [N, M]
};

absl::StatusOr<Slices> SlicesOf(Graph& graph, Value x, std::optional<int64_t> axis) {
  TAILOR_RETURN_IF_ERROR(CheckValue(graph, "unique", "x", x));
  Shape shape = graph.type(x).shape;
  const int64_t rank = static_cast<int64_t>(shape.size());
  Formula f(&graph);
  if (!axis) {
    TAILOR_ASSIGN_OR_RETURN(Value flat, f.Finish(Reshaped(f, x, {ElementCount(shape)})));
    return Slices{flat, 0, flat};
  }
  if (*axis < -rank || *axis >= rank) {
    return absl::InvalidArgumentError(absl::StrCat("unique: axis ", *axis, " is out of range for operand \"x\" (",
                                                   graph.NameOf(x), ") of type ", graph.TypeText(graph.type(x))));
  }
  const int64_t front = *axis < 0 ? *axis + rank : *axis;
  if (rank == 1) return Slices{x, 0, x};
  std::vector<int64_t> order(shape.size());
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin(), order.begin() + front, order.begin() + front + 1);
  Value moved = front == 0 ? x : f.Apply(OpKind::kTranspose, {x}, {{"permutation", order}});
  const DimExpr count = shape[front];
  shape.erase(shape.begin() + front);
  TAILOR_ASSIGN_OR_RETURN(Value rows, f.Finish(Reshaped(f, moved, {count, ElementCount(shape)})));
  return Slices{x, front, rows};
}

// The elements of a vector, or the rows of a matrix, in ascending order.
absl::StatusOr<Sorted> SortSlices(Graph& graph, Value slices) {
  if (graph.type(slices).rank() == 1) return Sort(graph, slices, 0, false);
  TAILOR_ASSIGN_OR_RETURN(Value order, ArgsortRows(graph, slices));
  Formula f(&graph);
  TAILOR_ASSIGN_OR_RETURN(Value rows, f.Finish(f.Apply(OpKind::kGather, {slices, order})));
  return Sorted{rows, order};
}

// bool[N]: which of the sorted slices differ from their predecessor; the first one does.
Value StartsOfGroups(Formula& f, const Graph& graph, Value slices) {
  const Shape shape = graph.type(slices).shape;
  Value i = Positions(f, shape[0]);
  Value zero = f.Scalar(i, 0);
  Value before =
      f.Apply(OpKind::kGather, {slices, f.Apply(OpKind::kMax, {f.Apply(OpKind::kSub, {i, f.Scalar(i, 1)}), zero})});
  Value differs = f.Apply(OpKind::kNe, {slices, before});
  if (IsFloat(graph.type(slices).dtype)) {
    Value number = f.Apply(OpKind::kEq, {slices, slices}), other = f.Apply(OpKind::kEq, {before, before});
    differs = f.Apply(OpKind::kAnd, {differs, f.Apply(OpKind::kOr, {number, other})});
  }
  if (shape.size() == 2) {
    Value most = f.Apply(OpKind::kReduceMax, {AsNumbers(f, differs)}, {{"axes", std::vector<int64_t>{1}}});
    differs = f.Apply(OpKind::kGt, {most, zero});
  }
  return f.Apply(OpKind::kOr, {differs, f.Apply(OpKind::kEq, {i, zero})});
}

}  // namespace

absl::StatusOr<DimExpr> FreshDimSize(Graph& graph, absl::string_view prefix, const DimExpr& most) {
  SymbolInfo info;
  for (size_t i = 0; info.name.empty() || graph.FindSymbol(info.name); ++i) info.name = absl::StrCat(prefix, i);
  if (most.constant()) info.max = *most.constant();
  if (most.symbol()) info.max = graph.symbol(*most.symbol()).max;
  TAILOR_ASSIGN_OR_RETURN(SymbolId id, graph.AddSymbol(std::move(info)));
  return DimExpr::Symbol(id);
}

absl::StatusOr<Value> Compact(Graph& graph, Value x, Value mask) {
  TAILOR_RETURN_IF_ERROR(CheckMask(graph, x, mask));
  Formula f(&graph);
  const DimExpr rows = graph.type(x).shape[0];
  if (graph.type(mask).shape[0] != rows) mask = Reshaped(f, mask, {rows});
  TAILOR_RETURN_IF_ERROR(f.Finish(mask).status());
  TAILOR_ASSIGN_OR_RETURN(Selection selection, SelectRows(graph, "compact", mask));
  return f.Finish(Kept(f, graph, selection, x));
}

absl::StatusOr<Value> NonZero(Graph& graph, Value x) {
  TAILOR_RETURN_IF_ERROR(CheckValue(graph, "nonzero", "x", x));
  const Shape shape = graph.type(x).shape;
  const DimExpr count = ElementCount(shape);
  Formula f(&graph);
  Value flat = Reshaped(f, x, {count});
  Value mask = graph.type(x).dtype == DType::kBool ? flat : f.Apply(OpKind::kNe, {flat, f.Scalar(x, 0)});
  TAILOR_RETURN_IF_ERROR(f.Finish(mask).status());
  TAILOR_ASSIGN_OR_RETURN(Selection selection, SelectRows(graph, "nonzero", mask));
  Value places = Kept(f, graph, selection, Positions(f, count));
  if (shape.empty()) {
    Value none = Positions(f, 0);
    return f.Finish(f.Apply(OpKind::kBroadcast, {Reshaped(f, none, {0, 1})}, {{"shape", Shape{0, selection.to}}}));
  }
  std::vector<Value> rows(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    TAILOR_ASSIGN_OR_RETURN(Value dim_size, DimSizeValue(graph, shape[d]));
    Value row = d == 0 ? places : f.Apply(OpKind::kRem, {places, dim_size});
    rows[d] = Reshaped(f, row, {1, selection.to});
    if (d > 0) places = f.Apply(OpKind::kDiv, {places, dim_size});
  }
  TAILOR_RETURN_IF_ERROR(f.Finish(places).status());
  if (rows.size() == 1) return rows[0];
  return f.Finish(f.ApplyTo(OpKind::kConcat, rows, {{"axis", int64_t{0}}}));
}

absl::StatusOr<Distinct> Unique(Graph& graph, Value x, std::optional<int64_t> axis, bool sorted) {
  TAILOR_ASSIGN_OR_RETURN(Slices slices, SlicesOf(graph, x, axis));
  TAILOR_ASSIGN_OR_RETURN(Sorted order, SortSlices(graph, slices.rows));
  Formula f(&graph);
  Value starts = StartsOfGroups(f, graph, order.values);
  TAILOR_RETURN_IF_ERROR(f.Finish(starts).status());
  TAILOR_ASSIGN_OR_RETURN(Selection groups, SelectRows(graph, "unique", starts));

  const Shape all = {groups.from}, distinct = {groups.to};
  Value first = Kept(f, graph, groups, order.indices);  // the sort is stable: indices of first occurrences
  Value number = f.Apply(OpKind::kSub, {Sums(f, AsNumbers(f, starts), true), f.Scalar(first, 1)});
  if (!sorted) {
    Value marks = Put(f, Filled(f, first, 0, all), first, groups.to, Filled(f, first, 1, distinct), "set");
    Value rank = f.Apply(OpKind::kGather, {Sums(f, marks, false), first});
    number = f.Apply(OpKind::kGather, {rank, number});
    first = Put(f, Filled(f, first, 0, distinct), rank, groups.to, first, "set");
  }
  Distinct result;
  result.values = f.Apply(OpKind::kGather, {slices.x, first}, {{"axis", slices.axis}});
  result.indices = first;
  result.inverse = Put(f, Filled(f, first, 0, all), order.indices, groups.from, number, "set");
  Value zeros = Filled(f, first, 0, distinct);
  result.counts = Put(f, zeros, result.inverse, groups.from, Filled(f, first, 1, all), "add");
  TAILOR_RETURN_IF_ERROR(f.Finish(result.counts).status());
  return result;
}

}  // namespace tailor
