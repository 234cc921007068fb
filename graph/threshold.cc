#include "graph/threshold.h"

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "graph/builders.h"
#include "graph/formula_ops.h"
#include "graph/loop.h"
#include "graph/ordering.h"
#include "graph/status_macros.h"

namespace tailor {
namespace {

Value CountLast(Formula& f, Value mask, DType dtype) { return f.Reduce(OpKind::kReduceSum, Cast(f, mask, dtype), 1); }

Value CountBefore(Formula& f, Value mask, DType dtype) {
  return f.Apply(OpKind::kScan, {Cast(f, mask, dtype)},
                 {{"axis", int64_t{1}}, {"combiner", "add"}, {"exclusive", int64_t{1}}});
}

struct Search {
  enum Carried : size_t { kBit, kThreshold, kCount, kK };
  enum Read : size_t { kKeys };
};

// Whether there is another bit, and a row [R, 1] with more than k keys at or above its threshold.
absl::StatusOr<Value> GoesOn(Loop& loop) {
  Graph& graph = loop.condition();
  Formula f(&graph);
  const Value bit = loop.carried(Search::kBit);
  Value left = f.Apply(OpKind::kNe, {bit, f.Scalar(bit, 0)});
  Value surplus = f.Apply(OpKind::kNe, {loop.carried(Search::kCount), loop.carried(Search::kK)});
  Value any = f.Apply(OpKind::kReduceMax, {Cast(f, And(f, surplus, left), DType::kI32)},
                      {{"axes", std::vector<int64_t>{0, 1}}});
  return f.Finish(f.Apply(OpKind::kGt, {any, f.Scalar(any, 0)}));
}

// Adds a bit to the thresholds [R, 1] at or above which at least k keys remain.
absl::StatusOr<std::vector<Value>> NextBit(Loop& loop) {
  Graph& graph = loop.body();
  Formula f(&graph);
  const Value bit = loop.carried(Search::kBit), threshold = loop.carried(Search::kThreshold),
              count = loop.carried(Search::kCount);
  Value raised = Or(f, threshold, bit);
  Value at_least = f.Apply(OpKind::kGe, {loop.read(Search::kKeys), raised});
  Value hits = CountLast(f, at_least, graph.type(count).dtype);
  Value enough = f.Apply(OpKind::kGe, {hits, loop.carried(Search::kK)});
  std::vector<Value> next = {f.Apply(OpKind::kShiftRight, {bit, f.Scalar(bit, 1)}),
                             Select(f, enough, raised, threshold), Select(f, enough, hits, count)};
  TAILOR_RETURN_IF_ERROR(f.Finish(next.back()).status());
  return next;
}

// A threshold [R, 1] for each row of keys [R, N]: k keys are at least as large, or, of equal ones, more. `count`: N.
absl::StatusOr<Value> Thresholds(Graph& graph, Value keys, Value count, Value k) {
  Formula f(&graph);
  const Shape column = {graph.type(keys).shape[0], 1};
  Value bit = f.Scalar(keys, std::ldexp(1.0, 8 * SizeOf(graph.type(keys).dtype) - 1));
  Value zero = f.Apply(OpKind::kBroadcast, {f.Scalar(keys, 0)}, {{"shape", column}});
  Value all = f.Apply(OpKind::kBroadcast, {count}, {{"shape", column}});
  TAILOR_RETURN_IF_ERROR(f.Finish(all).status());
  TAILOR_ASSIGN_OR_RETURN(
      Loop loop, Loop::Create(&graph, {{"bit", bit}, {"threshold", zero}, {"count", all}, {"k", k}}, {{"keys", keys}}));
  TAILOR_ASSIGN_OR_RETURN(const Value go_on, GoesOn(loop));
  TAILOR_ASSIGN_OR_RETURN(std::vector<Value> next, NextBit(loop));
  TAILOR_ASSIGN_OR_RETURN(std::vector<Value> results, std::move(loop).Finish(go_on, std::move(next)));
  return results[Search::kThreshold];
}

}  // namespace

absl::StatusOr<Value> SelectByThreshold(Graph& graph, Value x, const DimExpr& k, bool largest) {
  const TensorType type = graph.type(x);
  const DimExpr count = type.shape.back(), places = k + 1;
  DimExpr rows = 1;
  for (int d = 0; d + 1 < type.rank(); ++d) rows = rows * type.shape[d];
  const DType dtype = IndexType(graph, count);
  TAILOR_ASSIGN_OR_RETURN(const Value count_value, AppendDimSize(graph, count, dtype));
  TAILOR_ASSIGN_OR_RETURN(const Value k_value, AppendDimSize(graph, k, dtype));
  Formula f(&graph);
  Value keys = AppendOrderedKeys(f, graph, Reshaped(f, x, {rows, count}), largest);
  TAILOR_RETURN_IF_ERROR(f.Finish(keys).status());
  TAILOR_ASSIGN_OR_RETURN(Value threshold, Thresholds(graph, keys, count_value, k_value));

  // The elements above the threshold, then those that equal it until there are k; all others go to place k.
  Value above = f.Apply(OpKind::kGt, {keys, threshold}), equal = f.Apply(OpKind::kEq, {keys, threshold});
  Value among_equal = f.Apply(OpKind::kAdd, {CountLast(f, above, dtype), CountBefore(f, equal, dtype)});
  Value rank = Select(f, above, CountBefore(f, above, dtype), among_equal);
  Value taken = Or(f, above, And(f, equal, f.Apply(OpKind::kLt, {rank, k_value})));
  Value row = Reshaped(f, Positions(f, rows), {rows, 1});
  Value places_value = f.Apply(OpKind::kAdd, {Cast(f, k_value, DType::kI64), f.Scalar(row, 1)});
  Value cell = f.Apply(OpKind::kAdd, {f.Apply(OpKind::kMul, {row, places_value}),
                                      Cast(f, Select(f, taken, rank, k_value), DType::kI64)});
  Value positions = Positions(f, count, dtype);
  TAILOR_RETURN_IF_ERROR(f.Finish(cell).status());
  TAILOR_ASSIGN_OR_RETURN(Value head, AppendFirstPositions(graph, count, k, dtype));  // for the shape
  Value start = f.Apply(OpKind::kPad, {head, f.Scalar(positions, 0)}, {{"low", Shape{0}}, {"high", Shape{1}}});
  Value found = f.Apply(OpKind::kBroadcast, {start}, {{"shape", Shape{rows, places}}});
  Value every = f.Apply(OpKind::kBroadcast, {positions}, {{"shape", Shape{rows, count}}});
  found = f.Apply(OpKind::kScatter, {Reshaped(f, found, {rows * places}), Reshaped(f, cell, {rows, count, 1}), every},
                  {{"combiner", "set"}});
  found = f.Apply(OpKind::kSlice, {Reshaped(f, found, {rows, places})},
                  {{"starts", Shape{0, 0}}, {"sizes", Shape{rows, k}}});
  Shape shape(type.shape.begin(), type.shape.end() - 1);
  shape.push_back(k);
  return f.Finish(Reshaped(f, found, shape));
}

}  // namespace tailor
