#include "graph/selection.h"

#include <cmath>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "graph/builders.h"
#include "graph/formula_ops.h"
#include "graph/loop.h"
#include "graph/ordering.h"
#include "graph/status_macros.h"

namespace tailor {
namespace {

// Elements of a block.
constexpr int64_t kBlock = 16;

Shape WithLast(Shape shape, const DimExpr& dim_size) {
  shape.push_back(dim_size);
  return shape;
}

// Elements to select from: the greater key comes first, and of equal keys the lower index.
struct Candidates {
  Value keys;                    // [..., M], unsigned
  std::optional<Value> indices;  // [..., M]; absent: 0 to M - 1
};

struct Pick {
  enum Carried : size_t { kStep, kKey, kIndex, kFound, kCount };
  enum Read : size_t { kKeys, kIndices };
};

struct Found {
  Value key, index;  // [..., 1]
};

// The first candidate; with `last`, the first one after it.
Found First(Formula& f, const Graph& graph, Value keys, Value indices, const std::optional<Found>& last) {
  if (!f.ok()) return {};
  const int64_t axis = graph.type(keys).rank() - 1;
  std::optional<Value> left;
  if (last) {
    Value equal = f.Apply(OpKind::kEq, {keys, last->key});
    left = Or(f, f.Apply(OpKind::kLt, {keys, last->key}), And(f, equal, f.Apply(OpKind::kGt, {indices, last->index})));
  }
  Value best = f.Reduce(OpKind::kReduceMax, left ? Select(f, *left, keys, f.Scalar(keys, 0)) : keys, axis);
  Value among = f.Apply(OpKind::kEq, {keys, best});
  if (left) among = And(f, *left, among);
  return {best, f.Reduce(OpKind::kReduceMin, Select(f, among, indices, f.Scalar(indices, INFINITY)), axis)};
}

// Finds element number t: the first one after the last one found.
absl::StatusOr<std::vector<Value>> NextElement(Loop& loop, bool has_indices) {
  Graph& graph = loop.body();
  Formula f(&graph);
  const Value t = loop.carried(Pick::kStep), keys = loop.read(Pick::kKeys), found = loop.carried(Pick::kFound);
  const Shape rows = graph.type(loop.carried(Pick::kKey)).shape, column = WithLast(rows, 1);
  const Found last = {Reshaped(f, loop.carried(Pick::kKey), column), Reshaped(f, loop.carried(Pick::kIndex), column)};
  Value indices =
      has_indices ? loop.read(Pick::kIndices) : Positions(f, graph.type(keys).shape.back(), graph.type(found).dtype);
  const Found next = First(f, graph, keys, indices, last);
  Value index = Reshaped(f, next.index, rows);
  std::vector<Value> results = {f.Apply(OpKind::kAdd, {t, f.Scalar(t, 1)}), Reshaped(f, next.key, rows), index};
  results.push_back(f.Apply(OpKind::kScatter, {found, Reshaped(f, t, {1}), index}, {{"combiner", "set"}}));
  TAILOR_RETURN_IF_ERROR(f.Finish(results.back()).status());
  return results;
}

// The indices of the first `count` candidates [..., M] in order: [..., count]. `head`: any [count] of their dtype, for
// the shape.
absl::StatusOr<Value> FirstAmong(Graph& graph, const Candidates& candidates, const DimExpr& count, Value head) {
  const TensorType type = graph.type(candidates.keys);
  const Shape rows(type.shape.begin(), type.shape.end() - 1);
  TAILOR_ASSIGN_OR_RETURN(Value end, DimSizeValue(graph, count));
  Formula f(&graph);
  Shape front = {count}, column(type.shape.size(), 1);
  front.insert(front.end(), rows.begin(), rows.end());
  column[0] = count;
  Value found = f.Apply(OpKind::kBroadcast, {Reshaped(f, head, column)}, {{"shape", front}});
  Value key = f.Apply(OpKind::kBroadcast, {f.Scalar(candidates.keys, INFINITY)}, {{"shape", rows}});
  Value index = f.Apply(OpKind::kBroadcast, {f.Scalar(head, -1)}, {{"shape", rows}});
  Value zero = f.Scalar(end, 0);
  TAILOR_RETURN_IF_ERROR(f.Finish(index).status());

  std::vector<Loop::Operand> read = {{"keys", candidates.keys}};
  if (candidates.indices) read.push_back({"indices", *candidates.indices});
  TAILOR_ASSIGN_OR_RETURN(
      Loop loop,
      Loop::Create(&graph, {{"t", zero}, {"key", key}, {"index", index}, {"found", found}, {"count", end}}, read));
  Formula condition(&loop.condition());
  Value go_on = condition.Apply(OpKind::kLt, {loop.carried(Pick::kStep), loop.carried(Pick::kCount)});
  TAILOR_RETURN_IF_ERROR(condition.Finish(go_on).status());
  TAILOR_ASSIGN_OR_RETURN(std::vector<Value> next, NextElement(loop, candidates.indices.has_value()));
  TAILOR_ASSIGN_OR_RETURN(std::vector<Value> results, std::move(loop).Finish(go_on, std::move(next)));

  std::vector<int64_t> back(type.shape.size(), 0);
  std::iota(back.begin(), back.end() - 1, 1);
  return f.Finish(f.Apply(OpKind::kTranspose, {results[Pick::kFound]}, {{"permutation", back}}));
}

// The elements of the blocks whose best elements come first, as many blocks as elements are wanted, and of the last,
// partial block: an element of any other block comes after one of each of these.
absl::StatusOr<Candidates> OfFirstBlocks(Graph& graph, Value x, int64_t count, bool largest) {
  const TensorType type = graph.type(x);
  const Shape rows(type.shape.begin(), type.shape.end() - 1), none(type.shape.size(), 0);
  const DimExpr n = type.shape.back(), blocks = DimExpr::FloorDiv(n, kBlock), taken = DimExpr::Min(blocks, count);
  const DType dtype = IndexType(graph, n);
  TAILOR_ASSIGN_OR_RETURN(const Value last_block, AppendDimSize(graph, blocks, dtype));
  TAILOR_ASSIGN_OR_RETURN(const Value end, AppendDimSize(graph, n, dtype));
  Formula f(&graph);
  Value whole = f.Apply(OpKind::kSlice, {x}, {{"starts", none}, {"sizes", WithLast(rows, blocks * kBlock)}});
  Value keys = AppendOrderedKeys(f, graph, Reshaped(f, whole, WithLast(WithLast(rows, blocks), kBlock)), largest);
  Value best = f.Apply(OpKind::kReduceMax, {keys}, {{"axes", std::vector<int64_t>{type.rank()}}});
  TAILOR_RETURN_IF_ERROR(f.Finish(best).status());
  TAILOR_ASSIGN_OR_RETURN(Value head, AppendFirstPositions(graph, blocks, taken, dtype));
  TAILOR_ASSIGN_OR_RETURN(Value chosen, FirstAmong(graph, {best, std::nullopt}, taken, head));
  Value partial = f.Apply(OpKind::kBroadcast, {last_block}, {{"shape", WithLast(rows, 1)}});
  chosen = f.Apply(OpKind::kConcat, {chosen, partial}, {{"axis", type.rank() - 1}});
  Value first = f.Apply(OpKind::kMul, {chosen, f.Scalar(chosen, kBlock)});
  Value indices =
      f.Apply(OpKind::kAdd, {Reshaped(f, first, WithLast(WithLast(rows, taken + 1), 1)), Positions(f, kBlock, dtype)});
  Value inside = f.Apply(OpKind::kMin, {indices, f.Apply(OpKind::kSub, {end, f.Scalar(end, 1)})});
  TAILOR_RETURN_IF_ERROR(f.Finish(inside).status());
  TAILOR_ASSIGN_OR_RETURN(Value elements, AppendPicked(graph, x, inside));
  // Past the end: the least key, and the greatest indices.
  keys = AppendOrderedKeys(f, graph, elements, largest);
  keys = Select(f, f.Apply(OpKind::kLt, {indices, end}), keys, f.Scalar(keys, 0));
  const Shape flat = WithLast(rows, (taken + 1) * kBlock);
  const Candidates candidates{Reshaped(f, keys, flat), Reshaped(f, indices, flat)};
  TAILOR_RETURN_IF_ERROR(f.Finish(candidates.keys).status());
  return candidates;
}

// Whether to select in two levels. They sweep over fewer elements from N = 17 * count on, but have more launches; an
// unknown N is taken for a long one.
bool HasBlocks(const DimExpr& n, int64_t count) {
  return count > 1 && (!n.constant() || *n.constant() > 2 * kBlock * count);
}

}  // namespace

absl::StatusOr<Value> SelectFirst(Graph& graph, Value x, int64_t count, bool largest) {
  const DimExpr n = graph.type(x).shape.back();
  const DType dtype = IndexType(graph, n);
  Formula f(&graph);
  TAILOR_ASSIGN_OR_RETURN(Value head, AppendFirstPositions(graph, n, count, dtype));
  if (HasBlocks(n, count)) {
    TAILOR_ASSIGN_OR_RETURN(const Candidates candidates, OfFirstBlocks(graph, x, count, largest));
    return FirstAmong(graph, candidates, count, head);
  }
  Value keys = AppendOrderedKeys(f, graph, x, largest);
  TAILOR_RETURN_IF_ERROR(f.Finish(keys).status());
  if (count != 1) return FirstAmong(graph, {keys, std::nullopt}, count, head);
  // The head is 0: the maximum only keeps its check.
  return f.Finish(f.Apply(OpKind::kMax, {First(f, graph, keys, Positions(f, n, dtype), std::nullopt).index, head}));
}

}  // namespace tailor
