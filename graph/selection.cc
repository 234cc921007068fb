#include "graph/selection.h"

#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "graph/builders.h"
#include "graph/formula_ops.h"
#include "graph/loop.h"
#include "graph/ordering.h"
#include "graph/status_macros.h"

namespace tailor {
namespace {

Value Not(Formula& f, Value x) { return f.Apply(OpKind::kNot, {x}); }

struct Pick {
  enum Carried : size_t { kStep, kValue, kIndex, kValues, kIndices };
  enum Read : size_t { kKeys, kCount };
};

Shape WithLast(Shape shape, const DimExpr& dim_size) {
  shape.push_back(dim_size);
  return shape;
}

struct Found {
  Value value, index;  // [..., 1]
};

// The first element in order among the candidates, bool[..., N], of which there is at least one. `count` is N.
Found First(Formula& f, const TensorType& type, Value keys, Value candidates, Value positions, Value count,
            bool largest) {
  const int64_t axis = type.rank() - 1;
  const bool floats = IsFloat(type.dtype);
  const auto first = [&](Value among) {
    return f.Reduce(OpKind::kReduceMin, Select(f, among, positions, count), axis);
  };
  const double last = largest ? -INFINITY : INFINITY;  // saturates for integers
  Value numbers = candidates;
  if (floats && !largest) numbers = And(f, candidates, f.Apply(OpKind::kEq, {keys, keys}));
  Value best =
      f.Reduce(largest ? OpKind::kReduceMax : OpKind::kReduceMin, Select(f, numbers, keys, f.Scalar(keys, last)), axis);
  Value same = f.Apply(OpKind::kEq, {keys, best});
  if (!floats) return {best, first(And(f, candidates, same))};
  Value nan = f.Apply(OpKind::kNe, {keys, keys});
  if (largest) {  // NaN comes first, if present
    Value both = And(f, nan, f.Apply(OpKind::kNe, {best, best}));
    return {best, first(And(f, candidates, Or(f, same, both)))};
  }
  Value index = first(And(f, candidates, same));  // `count` if only NaNs are left
  Value none = f.Apply(OpKind::kEq, {index, count});
  return {Select(f, none, f.Scalar(keys, NAN), best), Select(f, none, first(candidates), index)};
}

// Finds element number t: the first one after the last one found.
absl::StatusOr<std::vector<Value>> Body(Loop& loop, bool largest) {
  Graph& graph = loop.body();
  Formula f(&graph);
  const Value t = loop.carried(Pick::kStep), keys = loop.read(Pick::kKeys), count = loop.read(Pick::kCount);
  const Shape rows = graph.type(loop.carried(Pick::kValue)).shape, column = WithLast(rows, 1);
  Value value = Reshaped(f, loop.carried(Pick::kValue), column),
        index = Reshaped(f, loop.carried(Pick::kIndex), column);
  Value before = largest ? value : keys, after = largest ? keys : value;
  Value beyond = AppendLess(f, graph, after, before);
  Value equal = Not(f, AppendLess(f, graph, before, after));
  const TensorType type = graph.type(keys);
  Value positions = Positions(f, type.shape.back(), graph.type(count).dtype);
  Value later = Or(f, beyond, And(f, equal, f.Apply(OpKind::kGt, {positions, index})));
  Value candidates = Or(f, later, f.Apply(OpKind::kEq, {t, f.Scalar(t, 0)}));
  Found found = First(f, type, keys, candidates, positions, count, largest);
  found = {Reshaped(f, found.value, rows), Reshaped(f, found.index, rows)};
  Value place = Reshaped(f, t, {1});
  std::vector<Value> next = {f.Apply(OpKind::kAdd, {t, f.Scalar(t, 1)}), found.value, found.index};
  for (auto [all, one] : {std::pair(Pick::kValues, found.value), std::pair(Pick::kIndices, found.index)}) {
    next.push_back(f.Apply(OpKind::kScatter, {loop.carried(all), place, one}, {{"combiner", "set"}}));
  }
  TAILOR_RETURN_IF_ERROR(f.Finish(next.back()).status());
  return next;
}

}  // namespace

absl::StatusOr<Sorted> SelectFirst(Graph& graph, Value x, int64_t count, bool largest) {
  Formula f(&graph);
  const TensorType type = graph.type(x);
  const Shape rows(type.shape.begin(), type.shape.end() - 1);
  const DType dtype = IndexType(graph, type.shape.back());
  TAILOR_ASSIGN_OR_RETURN(Value dim_size, DimSizeValue(graph, type.shape.back()));
  Value keys = type.dtype == DType::kBool ? Cast(f, x, DType::kU8) : x;
  // The first `count` elements unsorted, for the shape. This slice also checks that x has that many.
  Value head =
      f.Apply(OpKind::kSlice, {keys}, {{"starts", Shape(type.shape.size(), 0)}, {"sizes", WithLast(rows, count)}});
  std::vector<int64_t> front(type.shape.size());
  std::iota(front.begin() + 1, front.end(), 0);
  front[0] = static_cast<int64_t>(rows.size());
  Value values = f.Apply(OpKind::kTranspose, {head}, {{"permutation", front}});
  TAILOR_RETURN_IF_ERROR(f.Finish(values).status());
  Value zero = f.Scalar(dim_size, 0), none = Cast(f, zero, dtype);
  Value indices = f.Apply(OpKind::kBroadcast, {none}, {{"shape", graph.type(values).shape}});
  Value value = f.Apply(OpKind::kBroadcast, {f.Scalar(keys, 0)}, {{"shape", rows}});
  Value index = f.Apply(OpKind::kBroadcast, {none}, {{"shape", rows}});
  Value most = dtype == DType::kI64 ? dim_size : Cast(f, dim_size, dtype);
  TAILOR_RETURN_IF_ERROR(f.Finish(most).status());

  TAILOR_ASSIGN_OR_RETURN(
      Loop loop,
      Loop::Create(&graph, {{"t", zero}, {"value", value}, {"index", index}, {"values", values}, {"indices", indices}},
                   {{"keys", keys}, {"count", most}}));
  Formula condition(&loop.condition());
  const Value t = loop.carried(Pick::kStep);
  Value go_on = condition.Apply(OpKind::kLt, {t, condition.Scalar(t, static_cast<double>(count))});
  TAILOR_RETURN_IF_ERROR(condition.Finish(go_on).status());
  TAILOR_ASSIGN_OR_RETURN(std::vector<Value> next, Body(loop, largest));
  TAILOR_ASSIGN_OR_RETURN(std::vector<Value> results, std::move(loop).Finish(go_on, std::move(next)));

  std::vector<int64_t> back(type.shape.size(), 0);
  std::iota(back.begin(), back.end() - 1, 1);
  const auto moved = [&](Value v) { return f.Apply(OpKind::kTranspose, {v}, {{"permutation", back}}); };
  Sorted sorted{moved(results[Pick::kValues]), moved(results[Pick::kIndices])};
  if (type.dtype == DType::kBool) sorted.values = Cast(f, sorted.values, DType::kBool);
  if (dtype != DType::kI64) sorted.indices = Cast(f, sorted.indices, DType::kI64);
  TAILOR_RETURN_IF_ERROR(f.Finish(sorted.indices).status());
  return sorted;
}

}  // namespace tailor
